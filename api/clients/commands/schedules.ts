import type {Command} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {EXIT} from '../cli/exit-codes.ts'
import {Failure, notThere, usage} from '../cli/failure.ts'
import {interrupted} from '../cli/interrupt.ts'
import {waitForJob} from '../cli/job.ts'
import {wholeNumber} from '../cli/options.ts'
import type {Output} from '../cli/output.ts'
import {clean, plural, size} from '../cli/phrases.ts'
import type {Cli, Session} from '../cli/session.ts'
import {type Json, readFirst, readPages} from '../http.ts'
import {pause} from '../pause.ts'

export default (cli: Cli, program: Command) => {
  const schedules = program
    .command('schedules')
    .summary('list, test, fire and turn on or off schedules')
    .description('A schedule fetches a file and runs a template at set times.')
    .addHelpText(
      'after',
      '\nExamples:\n  lading schedules\n  lading schedules fire "Nightly leads" --wait\n  lading schedules firings "Nightly leads"',
    )
    .action(() => list(cli))
  schedules
    .command('list')
    .summary('list schedules')
    .action(() => list(cli))
  const named = (verb: string, summary: string) => schedules.command(verb).summary(summary).argument('<schedule>', 'name or id')
  named('show', 'show times, source and last firing of a schedule').action((given: string) => show(cli, given))
  named('firings', 'list the firings of a schedule with their outcomes')
    .option('-n, --limit <n>', 'maximum number of items', wholeNumber, 20)
    .action((given: string, {limit}: {limit: number}) => firings(cli, given, limit))
  named('fire', 'run a schedule now')
    .option('--again', 'run even if file, template and connection have not changed since the last run')
    .option('-w, --wait', 'wait until its run has started or failed to start')
    .addHelpText('after', '\nNext: lading schedules firings NAME, lading watch RUN')
    .action((given: string, options: {again?: boolean; wait?: boolean}) => fire(cli, given, options))
  named('test', 'fetch the file of a schedule as a test, without an import')
    .addHelpText('after', '\nExits with 7 if the file cannot be fetched, and with 8 if it does not fit the template.')
    .action((given: string) => testFetch(cli, given))
  named('on', 'turn a schedule on').action((given: string) => turn(cli, given, true))
  named('off', 'turn a schedule off').action((given: string) => turn(cli, given, false))
  named('held', 'show the file that a data contract holds, and why').action((given: string) => held(cli, given))
  named('accept', 'run the held file once')
    .option('--adapt', 'also loosen the data contract, so that a file like this meets it')
    .addHelpText('after', '\nNext: lading watch RUN')
    .action((given: string, {adapt = false}: {adapt?: boolean}) => accept(cli, given, adapt))
  named('discard', 'delete the held file').action((given: string) => discard(cli, given))
  addExamples(schedules, EXAMPLES)
}

const EXAMPLES = {
  list: 'list --json | jq -r ".schedules[] | select(.enabled) | .name"',
  show: 'show "Nightly leads"',
  firings: 'firings "Nightly leads" --limit 5',
  fire: 'fire "Nightly leads" --wait',
  held: 'held "Nightly leads"',
  accept: 'accept "Nightly leads" --adapt',
  discard: 'discard "Nightly leads"',
  test: 'test "Nightly leads"',
  on: 'on "Nightly leads"',
  off: 'off "Nightly leads"',
}

const heads = {
  list: [{head: 'ID', keep: true}, {head: 'NAME'}, {head: 'TEMPLATE'}, {head: 'CRON'}, {head: 'ZONE'}, {head: 'STATE'}, {head: 'NEXT'}],
  firings: [{head: 'DUE'}, {head: 'BY'}, {head: 'STATE'}, {head: 'OUTCOME'}, {head: 'WHY'}, {head: 'RUN', keep: true}],
}

/** Lists the schedules of all templates. The API lists them per template, but an org has few of both. */
const readAll = async ({client, path}: Session): Promise<Json[]> => {
  const found: Json[] = []
  for await (const template of readPages(client, path('templates'), 'templates', {limit: 200}))
    for await (const schedule of readPages(client, path(`templates/${template.id}/schedules`), 'schedules', {limit: 200}))
      found.push({...schedule, templateName: template.name})
  return found
}

const find = async (session: Session, given: string) => {
  const all = await readAll(session)
  const [found, another] = all.filter(({id, name}) => id === given || name === given)
  if (!found) throw notThere(`Schedule not found: ${given}`, 'List schedules with: lading schedules')
  if (another) throw usage(`Several schedules are named ${given}`, 'Use the id: lading schedules')
  return {schedule: found, at: session.path(`templates/${found.templateId}/schedules/${found.id}`)}
}

const stateOf = ({enabled, stopped}: Json) =>
  enabled ? 'on' : stopped ? `stopped: ${stopped.code ?? stopped.reason ?? 'see show'}` : 'off'

const nextOf = (out: Output, {timezone}: Json, next: Json) =>
  next === undefined ? '-' : out.isTerminal ? out.time(next.at, timezone) : next.local

const list = async ({out, open}: Cli) => {
  const schedules = await readAll(await open())
  const rows = schedules.map(one => [
    one.id,
    one.name,
    one.templateName,
    one.cron,
    one.timezone,
    stateOf(one),
    nextOf(out, one, one.next[0]),
  ])
  out.answer({schedules}, () =>
    rows.length
      ? out.table(heads.list, rows)
      : 'There are no schedules yet. Create one in the browser, or with POST …/templates/{id}/schedules',
  )
}

const show = async ({out, open}: Cli, given: string) => {
  const session = await open()
  const {
    at,
    schedule: {templateName},
  } = await find(session, given)
  const {schedule} = await session.client.get(at)
  const {lastFiring: last} = schedule
  out.answer({schedule}, [
    `${out.style('bold', clean(schedule.name))}  ${schedule.id}, ${stateOf(schedule)}`,
    `  runs     ${clean(templateName)}, at ${schedule.cron} (${schedule.timezone})`,
    `  from     ${clean(JSON.stringify(schedule.source))}`,
    `  verify   ${schedule.verify ?? 'as the template says'}`,
    ...schedule.next.slice(0, 3).map((next: Json, n: number) => `  ${n === 0 ? 'next ' : '     '}    ${nextOf(out, schedule, next)}`),
    `  last     ${last ? `${out.time(last.dueAt)}: ${last.outcome ?? last.state}${last.runId ? ` (${last.runId})` : ''}` : 'never'}`,
  ])
}

const firings = async ({out, open}: Cli, given: string, limit: number) => {
  const session = await open()
  const {at} = await find(session, given)
  const found = await readFirst(session.client, `${at}/firings`, 'firings', {limit})
  const rows = found.map((one: Json) => [out.time(one.dueAt), one.by, one.state, one.outcome ?? '', reasonOf(one.reason), one.runId ?? ''])
  out.answer({firings: found}, () => (rows.length ? out.table(heads.firings, rows) : 'This schedule has not fired yet'))
}

const reasonOf = (reason: Json) =>
  reason === null || typeof reason === 'string' ? (reason ?? '') : (reason.code ?? reason.stopped ?? reason.message ?? '')

const fire = async (cli: Cli, given: string, {again = false, wait}: {again?: boolean; wait?: boolean}) => {
  const session = await cli.open()
  const {at, schedule} = await find(session, given)
  const {firing, job} = await session.client.post(`${at}/run`, {again})
  if (!wait) return cli.out.answer({firing, job}, [`Fired ${clean(schedule.name)}`, `Next: lading schedules firings ${schedule.id}`])
  await waitForJob(cli, session, job)
  const now = await waitForFiring(cli, session, {at, firing, schedule})
  const why = reasonOf(now.reason)
  if (['failed', 'drifted', 'skipped'].includes(now.outcome))
    throw new Failure(`${clean(schedule.name)} did not start a run: ${now.outcome}${why && ` (${why})`}`, {
      exit: EXIT.refused,
      code: why || 'FAILED',
      detail: {firing: now},
      next: `Check its source and its template: lading schedules show ${schedule.id}`,
    })
  cli.out.answer({firing: now}, [
    `${clean(schedule.name)}: ${clean(now.outcome ?? now.state)}`,
    now.runId ? `Next: lading watch ${now.runId}` : `Next: lading schedules firings ${schedule.id}`,
  ])
}

const lookAgainMs = 1000
/** The longest wait for a firing. A failed fetch is tried again after half a minute and after two minutes. */
const mostWaitMs = 10 * 60_000

/** Finds a firing in the list of firings, newest first, because no route reads one firing. */
const readFiring = async ({client}: Session, {at, firing}: {at: string; firing: Json}, signal: AbortSignal): Promise<Json> => {
  for await (const one of readPages(client, `${at}/firings`, 'firings', {limit: 20}, {signal})) if (one.id === firing.id) return one
  return firing
}

/** Waits until a firing has started a run or ended. A firing whose fetch is tried again has not ended. Throws after ten minutes. */
const waitForFiring = async (cli: Cli, session: Session, {at, firing, schedule}: Record<'firing' | 'schedule', Json> & {at: string}) => {
  const signal = cli.interrupt()
  const next = `See its outcome: lading schedules firings ${schedule.id}`
  let tries = 0
  try {
    for (const until = Date.now() + mostWaitMs; ; await pause(lookAgainMs, signal)) {
      const now = await readFiring(session, {at, firing}, signal)
      if (now.state === 'ended' || now.runId) return now
      const why = reasonOf(now.reason)
      if (Date.now() > until)
        throw new Failure(`${clean(schedule.name)} has not started a run yet${why && ` (${why})`}`, {
          exit: EXIT.unreachable,
          code: 'UNREACHABLE',
          next,
          detail: {firing: now},
        })
      if (now.tryAgainAt && now.tries > tries)
        cli.out.note(`${clean(schedule.name)}: ${why}; tries again at ${cli.out.time(now.tryAgainAt)}`)
      tries = now.tries
      await session.keepFresh()
    }
  } catch (error) {
    if (signal.aborted) throw interrupted(signal.reason, `Stopped waiting for ${clean(schedule.name)}, which continues`, next)
    throw error
  }
}

const testFetch = async (cli: Cli, given: string) => {
  const session = await cli.open()
  const {at, schedule} = await find(session, given)
  const {job} = await session.client.post(`${at}/test`)
  await waitForJob(cli, session, job)
  const {test} = await session.client.get(`${at}/test`)
  const {file, problem} = test
  const next = `Check its source and its template: lading schedules show ${schedule.id}`
  const detail = {test}
  if (problem)
    throw new Failure(`The file could not be fetched: ${clean(problem.message)}`, {exit: EXIT.refused, code: problem.code, detail, next})
  const differences = file.drift.map(({stops, message}: Json) => `  ${clean(message)}${stops ? '' : ' (does not stop imports)'}`)
  if (file.drift.some(({stops}: Json) => stops))
    throw new Failure(`${clean(file.name)} does not fit the template: ${file.drift.map(({message}: Json) => clean(message)).join('; ')}`, {
      exit: EXIT.different,
      code: 'DRIFT',
      detail,
      next,
    })
  cli.out.answer({test}, [
    `${clean(file.name)}: ${plural(file.rows, 'row')}, ${plural(file.columnCount, 'column')}, ${size(file.bytes)}`,
    ...(differences.length > 0 ? ['Differences from the template:', ...differences] : ['The columns are those of the template']),
    `Next: lading schedules fire ${schedule.id}`,
  ])
}

const turn = async ({out, open}: Cli, given: string, enabled: boolean) => {
  const session = await open()
  const {at, schedule} = await find(session, given)
  const {schedule: turned} = await session.client.patch(at, {enabled}, {'if-match': `"${schedule.version}"`})
  out.answer({schedule: turned}, `${clean(turned.name)} is ${enabled ? `on; next at ${nextOf(out, turned, turned.next[0])}` : 'off'}`)
}

/** Finds the newest firing whose file waits for a decision, among the newest 200 of the schedule. Skips a file whose import was deleted. */
const findHeld = async (session: Session, given: string) => {
  const {at, schedule} = await find(session, given)
  const {firings: newest} = await session.client.get(`${at}/firings`, {limit: 200})
  const firing = newest.find(({contract, importId}: Json) => contract?.decision === null && importId !== null)
  if (!firing) throw notThere(`${clean(schedule.name)} holds no file`, `See its history: lading schedules firings ${schedule.id}`)
  return {at: `${at}/firings/${firing.id}`, schedule, firing}
}

const held = async ({out, open}: Cli, given: string) => {
  const {schedule, firing} = await findHeld(await open(), given)
  const {breaches, total} = firing.contract
  out.answer({firing}, [
    `${clean(schedule.name)} holds the file of ${out.time(firing.dueAt)}: ${plural(total, 'expectation')} broken`,
    ...breaches.map(({message}: Json) => `  ${clean(message)}`),
    `Next: lading schedules accept ${schedule.id}, or lading schedules discard ${schedule.id}`,
  ])
}

const accept = async ({out, open}: Cli, given: string, adapt: boolean) => {
  const session = await open()
  const {at, schedule} = await findHeld(session, given)
  const answer = await session.client.post(`${at}/accept`, {adapt})
  out.answer(answer, [
    `Accepted the file of ${clean(schedule.name)}: ${answer.runId}`,
    ...answer.left.map(({message}: Json) => `  not adapted, state the value yourself: ${clean(message)}`),
    `Next: lading watch ${answer.runId}`,
  ])
}

const discard = async ({out, open}: Cli, given: string) => {
  const session = await open()
  const {at, schedule, firing} = await findHeld(session, given)
  await session.client.post(`${at}/discard`)
  out.answer({discarded: firing.id}, `Discarded the file of ${clean(schedule.name)}`)
}
