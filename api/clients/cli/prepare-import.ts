import {ApiError, type Json, Unreachable} from '../http.ts'
import {decideDates} from './date-orders.ts'
import {decideText, type TextChoices} from './decide-text.ts'
import {dropImport} from './drop-import.ts'
import {EXIT} from './exit-codes.ts'
import {Failure, usage} from './failure.ts'
import {bindFlows, type LocalFile} from './inputs.ts'
import {Interrupted, interrupted} from './interrupt.ts'
import {type KeptImport, openKept, type RunOptions, runOptions} from './kept-imports.ts'
import {clean, plural, size} from './phrases.ts'
import {type ImportPlan, type PlanInput, planImport} from './plan-import.ts'
import {openProgress, uploadProgress} from './progress.ts'
import {proposeFlow} from './propose-flow.ts'
import {askYes, canAsk} from './questions.ts'
import type {Cli, Session} from './session.ts'
import {sendFile} from './upload.ts'

export type PrepareInput = PlanInput &
  TextChoices &
  RunOptions & {
    dryRun?: boolean
    declaredRows?: number
    rows?: {from?: number; to?: number}
    fresh?: boolean
    resume?: boolean
    /** Whether to print an event for each file. */
    streams?: boolean
  }

/**
 * An import that is ready to run. `run` is set if an earlier identical command started it. Call `forget` once the run has ended, to delete
 * the stored state.
 */
export type PreparedImport = {importId: string; sources: Json[]; run: Json | null; forget(): Promise<void>}

/** Creates an import, or resumes an interrupted one, and uploads its files until it is ready to run. */
export const prepareImport = async (cli: Cli, session: Session, input: PrepareInput): Promise<PreparedImport> => {
  const plan = await planImport(cli, session, input)
  const {dryRun = false, declaredRows, rows, match, existing, dates} = input
  const target = plan.target && {module: plan.target.module.apiName, match, existing, dates}
  const how = {...plan.body, flows: plan.flows, ...(target && {target}), dryRun, declaredRows, rows}
  const {kept, before} = await findInterrupted(cli, session, {how, plan, input})
  if (input.resume && !before) throw usage('There is no interrupted import of these files', 'Omit --resume to start a new import')
  if (before?.run) assertSameRun(before, input)
  const known: KeptImport = before?.kept ?? {
    import: (await session.client.post(session.path('imports'), plan.body)).import.id,
    files: plan.files.map(() => null),
    ...(plan.version && {version: plan.version}),
  }
  known.options = Object.fromEntries(runOptions.map(name => [name, input[name]]))
  if (before) cli.out.note(`Resuming ${known.import}`)
  if (before?.run) return {importId: known.import, sources: before.import.sources, run: before.run, forget: kept.forget}
  const keep = () =>
    kept
      .write(known)
      .catch(error => cli.out.warn(`Could not save the state of the upload, so it cannot be resumed: ${clean(error.message)}`))
  await keep()
  try {
    const sent = await sendFiles(cli, session, {plan, known, streams: Boolean(input.streams), keep})
    const sources = await decideText(session, {importId: known.import, sources: sent, ...input})
    await assignFiles(cli, session, {importId: known.import, plan, sources, input})
    assertGoingOn(cli.interrupt())
    return {importId: known.import, sources, run: null, forget: kept.forget}
  } catch (error) {
    if (isFinal(error)) {
      await kept.forget()
      await dropImport(session, known.import)
    }
    if (!(error instanceof Unreachable)) throw error
    const next = 'Uploaded parts are kept for a day. Once the server responds, run the same command again to resume'
    throw new Failure(error.message, {exit: EXIT.unreachable, code: 'UNREACHABLE', next})
  }
}

type InterruptedInput = {how: object; plan: ImportPlan; input: PrepareInput}

/**
 * Finds the interrupted import of the same command. The options --encoding and --accept-bad-bytes identify the command too, because they
 * change what a run reads. An import that was interrupted without these options is found too, unless a run or dry run of it has started.
 */
const findInterrupted = async (cli: Cli, session: Session, {how, plan: {files, version}, input}: InterruptedInput) => {
  const {encoding, acceptBadBytes, fresh, dryRun = false} = input
  const openFor = (text: object) =>
    openKept(cli.settings, {server: session.server, org: session.org, how: {...how, ...text}, files}, cli.out.warn)
  const kept = await openFor({encoding, acceptBadBytes})
  const before = await findBefore(session, await kept.read(fresh), {dryRun, version})
  if (before || fresh || (encoding === undefined && !acceptBadBytes)) return {kept, before}
  const undecided = await openFor({})
  const earlier = await findBefore(session, await undecided.read(), {dryRun, version})
  if (!earlier || earlier.hasRuns) return {kept, before: null}
  await undecided.forget()
  return {kept, before: earlier}
}

/** Throws if the run of an earlier command was undone, or began with other options, because options apply only when a run starts. */
const assertSameRun = ({kept: {import: id, options}, run}: {kept: KeptImport; run: Json}, input: RunOptions) => {
  if (run.begunUndo)
    throw usage(`Run ${run.id} of ${id} imported these files, and ${run.begunUndo} undoes it`, 'Add --fresh to import them a second time')
  const other = runOptions.filter(name => options && options[name] !== input[name])
  if (other.length > 0)
    throw usage(
      `Run ${run.id} of ${id} already imports these files with another ${other.map(name => `--${name}`).join(' and ')}`,
      `Watch it with lading watch ${run.id}, or add --fresh to start anew`,
    )
}

/** Whether the import can be deleted, because a repeated command would fail in the same way or the person declined the import. */
const isFinal = (error: unknown) =>
  error instanceof ApiError
    ? [400, 410, 413, 415, 422].includes(error.status)
    : error instanceof Failure && ['USAGE', 'FILE', 'DECLINED'].includes(error.code)

const assertGoingOn = ({aborted, reason}: AbortSignal) => {
  if (aborted)
    throw interrupted(reason, 'Interrupted before the run started', 'The files are uploaded. Run the same command again to start the run')
}

/**
 * Returns the import that an earlier command left, with its newest run or dry run as asked. Leaves out undos. Null if there is no import, or
 * if it expired or was deleted. Null too if the template changed and no row was written, because the import keeps the old mapping.
 */
const findBefore = async (
  session: Session,
  kept: KeptImport | null,
  {dryRun, version}: {dryRun: boolean; version?: number | undefined},
) => {
  if (!kept) return null
  try {
    const at = session.path(`imports/${kept.import}`)
    const {import: found} = await session.client.get(at)
    if (found.state === 'expired') return null
    const {runs} = await session.client.get(`${at}/runs`, {limit: 200})
    const run: Json = runs.find((one: Json) => one.dryRun === dryRun && !one.undoOf) ?? null
    if ((!run || dryRun) && kept.version !== version) return null
    return {kept, import: found, run, hasRuns: runs.length > 0}
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

type SentFiles = {plan: Pick<ImportPlan, 'files' | 'slots'>; known: KeptImport; streams: boolean; keep(): Promise<void>}

export const sendFiles = async (cli: Cli, session: Session, {plan, known, streams, keep}: SentFiles): Promise<Json[]> => {
  const sources: Json[] = []
  for (const [at, file] of plan.files.entries()) {
    const before = known.files[at]
    const sent = before && 'source' in before ? await findSource(session, known.import, before.source) : null
    if (sent) {
      sources.push(sent)
      continue
    }
    const {source} = await sendOne(cli, session, {
      importId: known.import,
      file,
      slot: plan.slots ? file.slot : null,
      begun: before && 'upload' in before ? before.upload : null,
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

/** Returns an uploaded file of an import, or null if a person removed it. */
const findSource = async ({client, path}: Session, importId: string, source: string): Promise<Json> => {
  try {
    return (await client.get(path(`imports/${importId}/sources/${source}`))).source
  } catch (error) {
    if (error instanceof ApiError && error.code === 'SOURCE_NOT_FOUND') return null
    throw error
  }
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
        'Interrupted during the upload',
        'Uploaded parts are kept for a day. Run the same command again to resume',
      )
    throw error
  } finally {
    progress.clear()
  }
}

type AssignFilesInput = {importId: string; plan: ImportPlan; sources: readonly Json[]; input: PrepareInput}

const assignFiles = async (cli: Cli, session: Session, {importId, plan, sources, input}: AssignFilesInput) => {
  const {flows, files, target} = plan
  const at = session.path(`imports/${importId}/flows`)
  const ids = sources.map(({id}) => id)
  if (flows) return session.client.put(at, bindFlows(flows, files, ids))
  if (!target) return assertFilled(session, importId, files, sources)
  const [source] = sources as [Json]
  const {flow, fields} = await proposeFlow(cli, session, {importId, source, ...target, existing: input})
  const {dates} = input
  await decideDates(cli, session, {importId, source, flow, fields, ...(dates && {dates})})
  await session.client.put(at, bindFlows([flow], files, ids))
  if (input.yes || input.dryRun || !canAsk(cli) || (await askYes(cli, `Import ${plural(source.rows, 'row')}?`))) return
  throw new Failure('Nothing was imported', {
    exit: EXIT.interrupted,
    code: 'DECLINED',
    next: `Change the mapping in a file: lading map FILE --module ${target.module.apiName} > flow.json, then lading import FILE --flow flow.json`,
  })
}

/**
 * Throws if a file does not fit its slot. In that case the import is not ready. Setting the slots again makes the API refuse with the
 * issues.
 */
const assertFilled = async ({client, path}: Session, importId: string, files: readonly LocalFile[], sources: readonly Json[]) => {
  const {import: found} = await client.get(path(`imports/${importId}`))
  if (found.state === 'ready') return
  await client.put(path(`imports/${importId}/slots`), Object.fromEntries(files.map(({slot}, at) => [slot, sources[at].id])))
}
