import type {Command} from 'commander'
import type {FailOn} from '../cli/ending.ts'
import {EXIT} from '../cli/exit-codes.ts'
import {Failure} from '../cli/failure.ts'
import {findRun, runPath} from '../cli/find.ts'
import {rowRange} from '../cli/options.ts'
import {type PrepareInput, prepareImport} from '../cli/prepare-import.ts'
import {startRun} from '../cli/run-start.ts'
import type {Cli} from '../cli/session.ts'
import {awaitEnd, type Following, printEnd} from '../cli/watch.ts'
import type {Json} from '../http.ts'
import {failOn, mapping, type Route, routeOption, type Verify, verifyOption, watching} from './import.ts'
import {begun, confirmDeletes} from './run.ts'

type PlanOptions = Omit<PrepareInput, 'files'> & {route?: Route; exitCode?: boolean; failOn?: FailOn}
type ApplyOptions = Following & {confirmDeletes?: number; verify?: Verify}

export default (cli: Cli, program: Command) => {
  mapping(
    program
      .command('plan')
      .summary('seal what an import would write')
      .description('Uploads files, makes a dry run and seals its plan. Nothing is written before `lading apply`.'),
  )
    .option('--rows <range>', 'only these rows: 1-100, 500-, 7', rowRange)
    .addOption(routeOption())
    .option('--exit-code', 'exit with 0 if the plan writes nothing, and with 9 if it writes rows')
    .addOption(failOn())
    .addHelpText('after', PLAN_HELP)
    .action((files: string[], options: PlanOptions) => planFiles(cli, files, options))

  watching(
    program
      .command('apply')
      .summary('apply a sealed plan')
      .description('Writes exactly what the plan of a dry run lists. Rows whose values or records changed since are skipped.')
      .argument('<run>', 'id of the dry run, or id or name of an import (its last dry run)')
      .addOption(confirmDeletes())
      .addOption(verifyOption()),
  )
    .addHelpText('after', '\nExample:\n  lading apply run_01k9… --watch')
    .action((given: string, options: ApplyOptions) => applyPlan(cli, given, options))
}

const planFiles = async (cli: Cli, files: string[], options: PlanOptions) => {
  const session = await cli.open()
  const input = {...options, dryRun: true, files, streams: true}
  const {importId, run: before, forget} = await prepareImport(cli, session, input)
  const {rows, route, exitCode, failOn = 'refused'} = options
  const start = {dryRun: true, ...(rows && {rows}), ...(route && {match: route}), signal: cli.interrupt()}
  const run = before ?? (await startRun(session, importId, start))
  cli.out.event({event: 'run', import: importId, run}, `Dry run ${run.id} of ${importId}`)
  const ended = await awaitEnd(cli, session, run)
  if (ended.stop) cli.out.warn('No plan was sealed, because the dry run stopped before the last row')
  const plan = ended.stop ? null : (await session.client.post(`${runPath(session, ended)}/seal`)).plan
  await printEnd(cli, session, ended, {failOn, plan, changesExit: exitCode ? EXIT.changes : EXIT.ok})
  await forget()
}

const applyPlan = async (cli: Cli, given: string, {watch, failOn, ...start}: ApplyOptions) => {
  const session = await cli.open()
  const dry = await findRun(session, given, ({dryRun, undoOf}: Json) => dryRun && !undoOf)
  if (dry.dryRun && !dry.undoOf) await assertSealed(session, dry)
  const run = await startRun(session, dry.importId, {planOf: dry.id, ...(dry.retryOf && {retryOf: dry.retryOf}), ...start})
  await begun(cli, session, run, {watch: Boolean(watch), ...(failOn && {failOn})})
}

const assertSealed = async (session: Awaited<ReturnType<Cli['open']>>, dry: Json) => {
  const {plan} = await session.client.get(`${runPath(session, dry)}/seal`)
  if (plan?.sealedAt) return
  const next = 'Make a sealed plan with: lading plan FILE'
  throw new Failure(`${dry.id} has no sealed plan`, {exit: EXIT.refused, code: 'NOT_READY', next})
}

const PLAN_HELP = `
The plan can be applied for 7 days, unless the import is changed. The exit code is 2 if rows would
be refused, and 3 if the dry run stopped; nothing is sealed then. Otherwise it is 0, or 9 with
--exit-code if the plan writes rows.

Examples:
  lading plan leads.csv --module Leads --match Email
  lading plan leads.csv --template Leads --exit-code   # in CI

Next: lading results RUN --plan, lading apply RUN --watch`
