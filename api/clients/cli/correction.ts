import {createReadStream} from 'node:fs'
import {Readable} from 'node:stream'
import type {Json} from '../http.ts'
import {readInputs} from './inputs.ts'
import {plural} from './phrases.ts'
import type {Cli, Session} from './session.ts'

const workbookType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

type Correction = {file: string; source: string | undefined}

/**
 * Sends the correction of a run: the corrected failed.csv, or the whole corrected file. A retry of the run writes the corrected rows.
 * `source`: the file of the run, if it read several. The header of a failed.csv names it. Returns in words how many rows and cells changed.
 */
export const sendCorrection = async (cli: Cli, session: Session, run: Json, {file, source}: Correction): Promise<string> => {
  const [input] = await readInputs([file])
  const {path, name} = input!
  const corrections = session.path(`imports/${run.importId}/runs/${encodeURIComponent(run.id)}/corrections`)
  const type = /\.xlsx$/i.test(name) ? workbookType : 'text/csv'
  const body = Readable.toWeb(createReadStream(path))
  const sent = {query: {name, source}, body, headers: {'content-type': type}, signal: cli.interrupt(), timeoutMs: Infinity}
  const {rows, cells, kept} = (await session.client.call('POST', corrections, sent)).body
  const changed = cells === 0 ? `${name} corrects no cell` : `${plural(rows, 'row')} corrected, ${plural(cells, 'cell')} changed`
  return kept > 0 ? `${changed}. ${plural(kept, 'cell')} kept a later correction, because the file did not change it` : changed
}
