import type {Pool, Tx} from '../../../sql/database.ts'
import type {VerifyMode} from '../../../sql/runs.ts'
import {setTemplateVerify, type TemplateRow} from '../../../sql/templates.ts'
import type {Author} from '../../configuration/change.ts'
import {recordTemplate} from './change.ts'
import {lockEditable} from './find.ts'
import type {Editor} from './write.ts'

export const changeVerify = (db: Pool, editor: Editor, {id, verify}: {id: string; verify: VerifyMode}): Promise<TemplateRow> =>
  db.transaction(async tx => {
    const before = await lockEditable(tx, {...editor, id})
    await keepVerify(tx, editor, before, verify)
    return {...before, verify}
  })

/**
 * Stores which written rows the template's runs read back; undefined: unchanged. The template keeps its version, because its runs write the same
 * values. So the template stays approved, and its schedules still skip a file that they have run.
 */
export const keepVerify = async (tx: Tx, author: Author, template: TemplateRow, verify: VerifyMode | undefined): Promise<void> => {
  if (verify === undefined || verify === template.verify) return
  await setTemplateVerify(tx, {id: template.id, verify})
  await recordTemplate(tx, author, template, {subject: 'template.verify', before: template.verify, after: verify})
}
