import type {Tx} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {Refusal} from '../../errors.ts'
import {findVisible, type TemplateCaller} from './find.ts'

type AuthoriseTemplateInput = TemplateCaller & {id: string | null | undefined; found: Pick<Import, 'templateId' | 'templateVersion'> | null}

/**
 * Returns the import's template, else the named template, else null. `version`: the version from which the import was made, else the current version.
 * Throws INVALID if the import was not made from the named template.
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
