import {ApiError, type Json, Unreachable} from '../http.ts'
import {decideText} from './decide-text.ts'
import {EXIT} from './exit-codes.ts'
import {Failure, usage} from './failure.ts'
import {findConnection, findTemplate} from './find.ts'
import {bindFlows, fillSlots, type LocalFile, readFlows, readInputs} from './inputs.ts'
import {Interrupted, interrupted} from './interrupt.ts'
import {type Kept, openKept} from './kept-imports.ts'
import {openProgress, uploadProgress} from './progress.ts'
import type {Cli, Session} from './session.ts'
import {sendFile} from './upload.ts'
import {clean, plural, size} from './words.ts'

export type Asked = {
  files: string[]
  template?: string
  flow?: string
  connection?: string
  name?: string
  dryRun?: boolean
  declaredRows?: number
  rows?: {from?: number; to?: number}
  /** Of the CSV files, where they do not show it themselves or a person knows better. */
  encoding?: string
  acceptBadBytes?: boolean
  fresh?: boolean
  resume?: boolean
  /** Tells of each file in the stream of events. */
  streams?: boolean
}

/** `run`: where an earlier command of the same words had begun it already. `forget`: once it has come to its end there is nothing to carry on. */
export type Prepared = {importId: string; sources: Json[]; run: Json | null; forget(): Promise<void>}

type Plan = {files: LocalFile[]; flows: Json[] | null; slots: boolean; body: {name?: string; templateId?: string; connectorId?: string}}

/** Makes an import of the files, or goes on with one that was interrupted, until it is ready to run. */
export const prepareImport = async (cli: Cli, session: Session, asked: Asked): Promise<Prepared> => {
  const plan = await planImport(session, asked)
  const {dryRun = false, declaredRows, rows} = asked
  const how = {...plan.body, flows: plan.flows, dryRun, declaredRows, rows}
  const kept = await openKept(cli.settings, {server: session.server, org: session.org, how, files: plan.files}, cli.out.warn)
  const before = asked.fresh ? null : await findBefore(session, await kept.read())
  if (asked.resume && !before)
    throw usage('There is nothing to carry on: no import of these files was interrupted', 'Leave --resume out to begin one')
  const known: Kept = before?.kept ?? {
    import: (await session.client.post(session.path('imports'), plan.body)).import.id,
    files: plan.files.map(() => null),
  }
  if (before) cli.out.note(`Carrying on with ${known.import}, which was interrupted`)
  if (before?.run) return {importId: known.import, sources: before.import.sources, run: before.run, forget: kept.forget}
  const keep = () =>
    kept
      .write(known)
      .catch(error => cli.out.warn(`What is sent cannot be remembered here, should it be interrupted: ${clean(error.message)}`))
  await keep()
  try {
    const sent = await sendFiles(cli, session, {plan, known, streams: Boolean(asked.streams), keep})
    const sources = await decideText(session, {importId: known.import, sources: sent, ...asked})
    await assignFiles(session, known.import, plan, sources)
    assertGoingOn(cli.interrupt())
    return {importId: known.import, sources, run: null, forget: kept.forget}
  } catch (error) {
    // The same again would be refused again, also when what it is held against has been put right.
    if (error instanceof ApiError && [400, 410, 413, 422].includes(error.status)) await kept.forget()
    if (!(error instanceof Unreachable)) throw error
    const next = 'What was sent is kept for a day: once the server answers, the same command goes on where it broke off'
    throw new Failure(error.message, {exit: EXIT.unreachable, code: 'UNREACHABLE', next})
  }
}

/** Whoever pressed Ctrl-C before the run begins wants none. */
const assertGoingOn = ({aborted, reason}: AbortSignal) => {
  if (aborted) throw interrupted(reason, 'Interrupted before the run began', 'The files are sent: the same command begins it')
}

/** What can be seen to be wrong on this side is said before anything is sent. */
const planImport = async (session: Session, {files: given, template: templateName, flow, connection, name}: Asked): Promise<Plan> => {
  const files = await readInputs(given)
  if (templateName !== undefined && flow !== undefined) throw usage('Name a template or flows, not both')
  if (flow !== undefined) {
    const flows = await readFlows(flow)
    bindFlows(flows, files, [])
    const connectorId = (await chooseConnection(session, connection)).id
    return {files, flows, slots: false, body: {name: name ?? nameOf(files), connectorId}}
  }
  if (templateName === undefined)
    throw usage(
      'What is to be done with the rows? Name a template or flows',
      'lading import FILE --template NAME (lading templates lists them), or --flow FILE.json',
    )
  const {template} = await findTemplate(session, templateName)
  const slots = template.sources.map(({slot}: Json) => slot)
  const connectorId = connection === undefined && template.connectorId ? null : (await chooseConnection(session, connection)).id
  const body = {name: name ?? nameOf(files), templateId: template.id, ...(connectorId && {connectorId})}
  return {files: fillSlots(files, slots), flows: null, slots: true, body}
}

const nameOf = (files: readonly LocalFile[]) =>
  files
    .map(({name}) => name)
    .join(', ')
    .slice(0, 200)

export const chooseConnection = async (session: Session, named: string | undefined): Promise<Json> => {
  if (named !== undefined) return findConnection(session, named)
  const {connectors} = await session.client.get(session.path('connectors'))
  const open = connectors.filter(({state}: Json) => state === 'connected')
  if (open.length === 1) return open[0]
  throw open.length === 0
    ? usage('The org is connected to no CRM', 'An administrator connects one in the browser; lading connections lists those there are')
    : usage(`The org has ${open.length} connections`, `Say which with --connection: ${open.map((one: Json) => clean(one.name)).join(', ')}`)
}

/** What is left of an earlier command; null where the server has nothing of it any more. */
const findBefore = async (session: Session, kept: Kept | null) => {
  if (!kept) return null
  try {
    const at = session.path(`imports/${kept.import}`)
    const {import: found} = await session.client.get(at)
    if (found.state === 'expired') return null
    const {runs} = await session.client.get(`${at}/runs`, {limit: 1})
    return {kept, import: found, run: (runs[0] as Json) ?? null}
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

type Sent = {plan: Plan; known: Kept; streams: boolean; keep(): Promise<void>}

const sendFiles = async (cli: Cli, session: Session, {plan, known, streams, keep}: Sent): Promise<Json[]> => {
  const sources: Json[] = []
  for (const [at, file] of plan.files.entries()) {
    const before = known.files[at]
    if (before && 'source' in before) {
      sources.push((await session.client.get(session.path(`imports/${known.import}/sources/${before.source}`))).source)
      continue
    }
    const {source} = await sendOne(cli, session, {
      ...{importId: known.import, file, slot: plan.slots ? file.slot : null, begun: before?.upload ?? null},
      async remember(upload) {
        known.files[at] = {upload}
        await keep()
      },
    })
    sources.push(source)
    known.files[at] = {source: source.id}
    await keep()
    if (streams)
      cli.out.event({
        event: 'source',
        import: known.import,
        source: {id: source.id, name: source.name, bytes: source.bytes, rows: source.rows},
      })
    cli.out.note(`${clean(file.name)}: ${size(file.bytes)}, ${plural(source.rows, 'row')}`)
  }
  return sources
}

type One = Pick<Parameters<typeof sendFile>[0], 'importId' | 'file' | 'slot' | 'begun' | 'remember'>

const sendOne = async ({out, interrupt}: Cli, session: Session, one: One): Promise<Json> => {
  const progress = openProgress(out)
  const signal = interrupt()
  let since: {at: number; sent: number} | null = null
  const onSent = (sent: number) => {
    since ??= {at: Date.now(), sent}
    progress.show(uploadProgress({name: one.file.name, sent, bytes: one.file.bytes, since}))
  }
  try {
    return await sendFile({session, ...one, onSent, signal})
  } catch (error) {
    if (error instanceof Interrupted || signal.aborted)
      throw interrupted(
        signal.reason,
        'Interrupted while the file was sent',
        'What was sent is kept for a day: the same command goes on where it broke off',
      )
    throw error
  } finally {
    progress.clear()
  }
}

const assignFiles = async (session: Session, importId: string, {flows, files}: Plan, sources: readonly Json[]) => {
  if (!flows) return assertFilled(session, importId, files, sources)
  const ids = sources.map(({id}) => id)
  await session.client.put(session.path(`imports/${importId}/flows`), bindFlows(flows, files, ids))
}

/** What does not fit its slot was kept as a draft: said by putting it there again. */
const assertFilled = async ({client, path}: Session, importId: string, files: readonly LocalFile[], sources: readonly Json[]) => {
  const {import: found} = await client.get(path(`imports/${importId}`))
  if (found.state === 'ready') return
  await client.put(path(`imports/${importId}/slots`), Object.fromEntries(files.map(({slot}, at) => [slot, sources[at].id])))
}
