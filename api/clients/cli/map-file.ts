import type {Json} from '../http.ts'
import {listOpen} from './date-orders.ts'
import {decideText, type TextChoices} from './decide-text.ts'
import {dropImport} from './drop-import.ts'
import type {Existing} from './existing-records.ts'
import {clean} from './phrases.ts'
import {planImport} from './plan-import.ts'
import {sendFiles} from './prepare-import.ts'
import {proposeFlow} from './propose-flow.ts'
import type {Cli, Session} from './session.ts'

export type MapInput = Existing & TextChoices & {file: string; module?: string; connection?: string}

/** Returns a flow for a file. The file is uploaded to a temporary import, because the server reads it. */
export const mapFile = async (cli: Cli, session: Session, {file, ...input}: MapInput): Promise<Json> => {
  const plan = await planImport(cli, session, {...input, files: [file]})
  const importId = (await session.client.post(session.path('imports'), plan.body)).import.id
  try {
    const known = {import: importId, files: plan.files.map(() => null)}
    const sent = await sendFiles(cli, session, {plan, known, streams: false, keep: async () => {}})
    const [source] = (await decideText(session, {importId, sources: sent, ...input})) as [Json]
    const {flow, fields} = await proposeFlow(cli, session, {importId, source, ...plan.target!, existing: input})
    const open = listOpen({source, flow, fields}).map(({name}) => clean(name))
    if (open.length > 0)
      cli.out.note(`The order of the dates of ${open.join(', ')} is open. Set "format" in their mappings, such as dd/MM/yyyy`)
    return flow
  } finally {
    await dropImport(session, importId)
  }
}
