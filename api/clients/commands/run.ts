import type {Command} from 'commander'
import {findRun} from '../cli/find.ts'
import {rowRange, wholeNumber} from '../cli/options.ts'
import {startRun} from '../cli/run-start.ts'
import type {Cli} from '../cli/session.ts'
import {type Following, isWatched, watchToEnd} from '../cli/watch.ts'
import type {Json} from '../http.ts'
import {failOn, watching} from './import.ts'

type Options = Following & {dryRun?: boolean; declaredRows?: number; rows?: {from?: number; to?: number}}

export default (cli: Cli, program: Command) => {
  watching(
    program
      .command('run')
      .summary('run an import that is there')
      .description('Begins a run of an import whose files are there already, such as after a dry run.')
      .argument('<import>', 'its id')
      .option('--dry-run', 'write nothing; say row by row what would be written')
      .option('--declared-rows <n>', 'stop after so many rows', wholeNumber)
      .option('--rows <range>', 'only rows with these numbers: 1-100, 500-, 7', rowRange),
  )
    .addHelpText('after', '\nExamples:\n  lading run imp_01k9… --rows 1-100 --watch   # a first hundred\n  lading run imp_01k9… --watch')
    .action(async (importId: string, {watch, failOn, ...start}: Options) => {
      const session = await cli.open()
      await begun(cli, session, await startRun(session, importId, start), {watch: Boolean(watch), ...(failOn && {failOn})})
    })

  watching(
    program
      .command('retry')
      .summary('carry an ended run on')
      .description('Does again what a run left: rows that have their record are not written a second time.')
      .argument('<run>', 'its id, or that of an import, whose last run is meant')
      .option('--declared-rows <n>', 'stop after so many rows', wholeNumber),
  )
    .addHelpText('after', '\nExamples:\n  lading retry run_01k9… --watch\n  lading retry imp_01k9… --watch --fail-on never')
    .action(async (given: string, {watch, failOn, declaredRows}: Options) => {
      const session = await cli.open()
      const before = await findRun(session, given, ({dryRun}: Json) => !dryRun)
      const run = await startRun(session, before.importId, {retryOf: before.id, ...(declaredRows && {declaredRows})})
      await begun(cli, session, run, {watch: Boolean(watch), ...(failOn && {failOn})})
    })

  addFollowing(cli, program)
}

/** Of a run that is under way. */
const addFollowing = (cli: Cli, program: Command) => {
  program
    .command('watch')
    .summary('follow a run to its end')
    .argument('<run>', 'its id, or that of an import')
    .addOption(failOn())
    .addHelpText(
      'after',
      '\nCtrl-C stops watching; the run goes on. It ends as `lading import --watch` does: 0, 2 or 3.\n\nExample:\n  lading watch run_01k9…',
    )
    .action(async (given: string, {failOn}: Options) => {
      const session = await cli.open()
      await watchToEnd(cli, session, await findRun(session, given), failOn)
    })

  program
    .command('cancel')
    .summary('stop a run')
    .description('The run writes no more rows. What is at the CRM already is settled first; what was written stays.')
    .argument('<run>', 'its id, or that of an import, whose run under way is meant')
    .addHelpText(
      'after',
      '\nExample:\n  lading cancel run_01k9… && lading watch run_01k9…   # wait until it has ended\n\nNext: lading retry RUN carries it on',
    )
    .action(async (given: string) => {
      const {client, path, ...session} = await cli.open()
      const found = await findRun({client, path, ...session}, given, ({state}: Json) => state !== 'ended')
      const {run} = await client.post(path(`runs/${encodeURIComponent(found.id)}/cancel`))
      const said = found.state === 'ended' ? `${run.id} had ended already` : `${run.id} is asked to stop`
      cli.out.answer({run}, [said, `Next: lading watch ${run.id}`])
    })
}

const begun = async (cli: Cli, session: Awaited<ReturnType<Cli['open']>>, run: Json, following: Following) => {
  if (!isWatched(following))
    return cli.out.answer({run}, [`${run.dryRun ? 'Dry run' : 'Run'} ${run.id} has begun`, `Next: lading watch ${run.id}`])
  cli.out.event({event: 'run', import: run.importId, run}, `${run.dryRun ? 'Dry run' : 'Run'} ${run.id} of ${run.importId}`)
  await watchToEnd(cli, session, run, following.failOn)
}
