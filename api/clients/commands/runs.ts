import type {Command} from 'commander'
import {describeEnding} from '../cli/ending.ts'
import {limitUsual, wholeNumber} from '../cli/options.ts'
import {clean, count} from '../cli/phrases.ts'
import {runProgress, sumCounts} from '../cli/progress.ts'
import type {Cli, Session} from '../cli/session.ts'
import type {Json} from '../http.ts'
import {describeRunState} from '../run-state.ts'

const mostAtOnce = 5

export default (cli: Cli, program: Command) => {
  program
    .command('runs')
    .summary('list imports and their runs')
    .description(
      'Without an id, lists the newest imports with their last run. With an import, lists its runs. With a run, shows its result.',
    )
    .argument('[id]', 'an import or a run')
    .option('-n, --limit <n>', 'maximum number of items', wholeNumber, 20)
    .addHelpText(
      'after',
      '\nExamples:\n  lading runs\n  lading runs imp_01k9…\n  lading runs run_01k9… --json | jq .run.counts\n\nNext: lading logs RUN, lading results RUN, lading retry RUN',
    )
    .action(async (id: string | undefined, {limit = limitUsual}: {limit?: number}) => {
      const session = await cli.open()
      if (id?.startsWith('run_')) return showRun(cli, session, id)
      return id === undefined ? listImports(cli, session, limit) : listRuns(cli, session, {id, limit})
    })
}

const listImports = async ({out}: Cli, {client, path}: Session, limit: number) => {
  const {imports} = await client.get(path('imports'), {limit})
  const runs: Json[] = []
  for (let at = 0; at < imports.length; at += mostAtOnce)
    runs.push(
      ...(await Promise.all(
        imports
          .slice(at, at + mostAtOnce)
          .map(async ({id}: Json) => (await client.get(path(`imports/${id}/runs`), {limit: 1})).runs[0] ?? null),
      )),
    )
  const rows = imports.map((one: Json, at: number) => [
    one.id,
    one.name,
    out.time(one.createdAt),
    stateOf(runs[at]) ?? one.state,
    countsOf(runs[at]),
  ])
  const heads = [{head: 'IMPORT', keep: true}, {head: 'NAME'}, {head: 'CREATED'}, {head: 'STATE'}, {head: 'ROWS'}]
  out.answer({imports: imports.map((one: Json, at: number) => ({...one, lastRun: runs[at]}))}, () =>
    rows.length ? out.table(heads, rows) : 'There are no imports yet. Start one with: lading import FILE --template NAME',
  )
}

const listRuns = async ({out}: Cli, {client, path}: Session, {id, limit}: {id: string; limit: number}) => {
  const {runs} = await client.get(path(`imports/${encodeURIComponent(id)}/runs`), {limit})
  const rows = runs.map((run: Json) => [run.id, kindOf(run), out.time(run.startedAt ?? run.authorisedAt), stateOf(run), countsOf(run)])
  const heads = [{head: 'RUN', keep: true}, {head: 'KIND'}, {head: 'STARTED'}, {head: 'STATE'}, {head: 'ROWS'}]
  out.answer({runs}, () => (rows.length ? out.table(heads, rows) : `This import has no runs yet. Start one with: lading run ${clean(id)}`))
}

const showRun = async ({out}: Cli, {client, path}: Session, id: string) => {
  const {run} = await client.get(path(`runs/${encodeURIComponent(id)}`))
  const {parts} = runProgress(run.progress, run.counts)
  out.answer({run}, () => [
    `${run.id}  ${kindOf(run)} of ${run.importId ?? 'an external engine'}`,
    ...(run.state === 'ended'
      ? describeEnding(out, run)
      : [
          `${stateOf(run)}: ${parts.join(', ')}`,
          ...(run.pause ? [`Paused: ${clean(run.pause.message)}`] : []),
          `Next: lading watch ${run.id}`,
        ]),
  ])
}

const kindOf = ({dryRun, retryOf, undoOf}: Json) => {
  if (undoOf) return dryRun ? 'preview of an undo' : 'undo'
  return dryRun ? 'dry run' : retryOf ? 'retry' : 'run'
}

/** Returns the state of a run, with its stop code. */
const stateOf = (run: Json): string | null => {
  if (!run) return null
  const {word} = describeRunState(run, count)
  return run.stop ? `${word} (${run.stop.stopped})` : word
}

const countsOf = (run: Json) =>
  run
    ? Object.entries(sumCounts(run.counts))
        .map(([outcome, rows]) => `${count(rows)} ${outcome}`)
        .join(', ')
    : ''
