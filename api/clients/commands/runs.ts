import type {Command} from 'commander'
import {describeEnding} from '../cli/ending.ts'
import {findImportId, followCommand, isId, isUndoable} from '../cli/find.ts'
import {wholeNumber} from '../cli/options.ts'
import type {Output} from '../cli/output.ts'
import {clean, count, describeOutcome} from '../cli/phrases.ts'
import {runProgress, sumCounts} from '../cli/progress.ts'
import {readReasons} from '../cli/reasons.ts'
import type {Cli, Session} from '../cli/session.ts'
import {type Json, readFirst} from '../http.ts'
import {describeRunState} from '../run-state.ts'

const usualLimit = 20

export default (cli: Cli, program: Command) => {
  program
    .command('imports')
    .summary('list imports with their last run')
    .option('-n, --limit <n>', 'maximum number of items', wholeNumber, usualLimit)
    .addHelpText(
      'after',
      '\nExamples:\n  lading imports\n  lading imports --json | jq -r ".imports[].name"\n\nNext: lading runs IMPORT, lading run IMPORT --watch',
    )
    .action(async ({limit}: Options) => listImports(cli, await cli.open(), limit))

  program
    .command('runs')
    .summary('list runs, or show one')
    .description('Without an argument, lists the newest runs of the org. With an import, lists its runs. With a run, shows its result.')
    .argument('[run]', 'id of a run, or id or name of an import')
    .option('-n, --limit <n>', 'maximum number of items', wholeNumber, usualLimit)
    .addHelpText(
      'after',
      '\nExamples:\n  lading runs\n  lading runs "Leads Lisbon fair"\n  lading runs run_01k9… --json | jq .run.counts\n\nNext: lading logs RUN, lading results RUN, lading retry RUN',
    )
    .action(async (given: string | undefined, {limit}: Options) => {
      const session = await cli.open()
      if (given === undefined) return listNewestRuns(cli, session, limit)
      if (isId('run', given)) return showRun(cli, session, given)
      return listRuns(cli, session, {id: await findImportId(session, given), limit})
    })
}

type Options = {limit: number}

const listImports = async ({out}: Cli, {client, path}: Session, limit: number) => {
  const imports = await readFirst(client, path('imports'), 'imports', {limit, lastRun: true})
  const rows = imports.map((one: Json) => [
    one.id,
    one.name,
    out.time(one.createdAt),
    stateOf(one.lastRun) ?? one.state,
    countsOf(one.lastRun),
  ])
  const heads = [{head: 'IMPORT', keep: true}, {head: 'NAME'}, {head: 'CREATED'}, {head: 'STATE'}, {head: 'ROWS'}]
  out.answer({imports}, () =>
    rows.length ? out.table(heads, rows) : 'There are no imports yet. Start one with: lading import FILE --module NAME',
  )
}

const listNewestRuns = async ({out}: Cli, {client, path}: Session, limit: number) => {
  const runs = await readFirst(client, path('runs'), 'runs', {limit})
  const rows = runs.map((run: Json) => [run.id, run.importName ?? '-', ...cellsOf(out, run)])
  out.answer({runs}, () =>
    rows.length
      ? out.table([{head: 'RUN', keep: true}, {head: 'IMPORT'}, ...runHeads], rows)
      : 'There are no runs yet. Start one with: lading import FILE --module NAME',
  )
}

const runHeads = [{head: 'KIND'}, {head: 'STARTED'}, {head: 'STATE'}, {head: 'ROWS'}]
const cellsOf = (out: Output, run: Json) => [kindOf(run), out.time(run.startedAt ?? run.authorisedAt), stateOf(run), countsOf(run)]

const listRuns = async ({out}: Cli, {client, path}: Session, {id, limit}: {id: string; limit: number}) => {
  const runs = await readFirst(client, path('runs'), 'runs', {import: id, limit})
  const rows = runs.map((run: Json) => [run.id, ...cellsOf(out, run)])
  out.answer({runs}, () =>
    rows.length
      ? out.table([{head: 'RUN', keep: true}, ...runHeads], rows)
      : `This import has no runs yet. Start one with: lading run ${clean(id)}`,
  )
}

const showRun = async ({out}: Cli, session: Session, id: string) => {
  const {run} = await session.client.get(session.path(`runs/${encodeURIComponent(id)}`))
  const {parts} = runProgress(run.progress, run.counts)
  const isShown = run.state === 'ended' && !out.json
  const why = isShown ? await readReasons(out, session, run) : undefined
  const facts = isShown ? {isUndoable: await isUndoable(session, run)} : {}
  out.answer({run}, () => [
    `${run.id}  ${kindOf(run)} of ${run.importId ?? 'an external engine'}`,
    ...(run.state === 'ended'
      ? describeEnding(out, run, why, facts)
      : [
          `${stateOf(run)}: ${parts.join(', ')}`,
          ...(run.pause ? [`Paused: ${clean(run.pause.message)}`] : []),
          `Next: ${followCommand(run)}`,
        ]),
  ])
}

const kindOf = ({dryRun, retryOf, undoOf}: Json) => {
  if (undoOf) return dryRun ? 'preview of an undo' : 'undo'
  return dryRun ? 'dry run' : retryOf ? 'retry' : 'run'
}

/** Returns the label of a run's state, with the code if the run was stopped. Null without a run. */
const stateOf = (run: Json): string | null => {
  if (!run) return null
  const {word} = describeRunState(run, count)
  return run.stop ? `${word} (${run.stop.stopped})` : word
}

const countsOf = (run: Json) =>
  run
    ? Object.entries(sumCounts(run.counts))
        .map(([outcome, rows]) => describeOutcome(outcome, rows))
        .join(', ')
    : ''
