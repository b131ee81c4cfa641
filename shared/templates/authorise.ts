import type {Tx} from '../../sql/database.ts'
import type {Import} from '../../sql/imports.ts'
import {Refusal} from '../errors.ts'
import {type Asker, findVisible} from './find.ts'

type Asked = Asker & {id: string | null | undefined; found: Pick<Import, 'templateId' | 'templateVersion'> | null}

/** The template a run is authorised for: the one named, else its import's own. Its version then is what the run keeps of it. */
export const templateFor = async (tx: Tx, {id, found, ...asker}: Asked): Promise<{id: string; version: number | null} | null> => {
  const own = found?.templateId ? {id: found.templateId, version: found.templateVersion} : null
  if (id == null) return own
  const template = await findVisible(tx, {...asker, id})
  if (found && own?.id !== id)
    throw new Refusal('INVALID', 'The import was not made from this template: leave templateId out', {
      issues: [{code: 'custom', path: ['templateId'], message: 'Not the template of the import'}],
    })
  return own ?? template
}
