import type {Tx} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {Refusal} from '../../errors.ts'
import {findVisible, type TemplateCaller} from './find.ts'

type AuthoriseTemplateInput = TemplateCaller & {id: string | null | undefined; found: Pick<Import, 'templateId' | 'templateVersion'> | null}

/**
 * Returns the template that a run is authorised for: that of its import, else the named template, else null. `version`: that from which the
 * import was made, else the current one. Throws INVALID if the import is of another template than the named one.
 */
export const templateFor = async (
  tx: Tx,
  {id, found, ...asker}: AuthoriseTemplateInput,
): Promise<{id: string; version: number | null} | null> => {
  const own = found?.templateId ? {id: found.templateId, version: found.templateVersion} : null
  if (id == null) return own
  const template = await findVisible(tx, {...asker, id})
  if (found && own?.id !== id)
    throw new Refusal('INVALID', 'The import was not made from this template. Leave templateId out', {
      issues: [{code: 'custom', path: ['templateId'], message: 'Not the template of the import'}],
    })
  return own ?? template
}
