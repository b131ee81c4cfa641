import {setTimeout as sleep} from 'node:timers/promises'
import type {Capabilities, DoctorReport, ProbeResult} from '../../../sql/doctor-reports.ts'
import {Refusal} from '../../errors.ts'
import type {CrmResponse} from '../client.ts'
import type {ProbeOptions} from '../crm.ts'
import {asObject, CrmError, codeOf, isTokenRefused, refusalOf} from '../error.ts'
import type {Json} from '../metadata.ts'
import {readProblem} from '../outcome.ts'
import type {SendCrmRequest} from '../request.ts'
import {accessProbes} from './access-probes.ts'
import {type Finding, type ProbeAnswer, type ProbeCall, type ProbeContext, unknownFinding} from './probe.ts'
import {queryProbes} from './query-probes.ts'
import {readProbes} from './read-probes.ts'
import {findSample} from './sample.ts'
import {clearProbe, deleteTestRecords, findTestModule, type WriteProbe, writeProbes} from './write-probes.ts'

const longestMs = 4 * 60_000
/** The time limit for deleting the test records after the last probe. */
const clearMs = 20_000
const mostTries = 4

/**
 * Each call costs one API credit: about 60 calls, and about 25 more with `write`. When `timeUp` aborts, the remaining facts are unknown. Throws a
 * Refusal if the quota is exhausted or the CRM refuses the token. With `write`, throws a Refusal unless the org is a sandbox or developer org.
 */
export const runProbes = async (
  sendCrmRequest: SendCrmRequest,
  {write, capabilities, signal, timeUp = AbortSignal.timeout(longestMs), onProgress}: ProbeOptions & {capabilities: Capabilities},
): Promise<DoctorReport> => {
  const counter = {calls: 0}
  const context = await openContext(sendCrmRequest, counter, signal ? AbortSignal.any([signal, timeUp]) : timeUp)
  if (write && !isSandbox(context.org))
    throw new Refusal(
      'NOT_A_SANDBOX',
      'The CRM org is not a sandbox, so nothing was written to it. Connect a sandbox org to run the writing probes',
    )
  const report: DoctorReport = {write, credits: 0, probes: [], capabilities: {...capabilities}}
  const reading = [...accessProbes, ...queryProbes, ...readProbes]
  const total = reading.length + (write ? writeProbes.length + 1 : 0)
  const isLate = () => timeUp.aborted && !signal?.aborted
  const note: RecordFinding = async (probe, run) => {
    await runProbe(report, probe, () =>
      run().catch(error => {
        if (isLate()) return {seen: 'Not within the time of the doctor', isExpected: null}
        return findingOf(error)
      }),
    )
    await onProgress?.(report.probes.length, total)
  }
  for (const probe of reading) await note(probe, () => probe.run(context))
  const clearing = () => ({...context, ask: askBy(sendCrmRequest, counter, AbortSignal.timeout(clearMs))})
  if (write) await runWriteProbes(context, clearing, note)
  return {...report, credits: counter.calls}
}

type ProbeDescription = Pick<WriteProbe, 'id' | 'fact' | 'expected' | 'consequence'>

type RecordFinding = (probe: ProbeDescription, run: () => Promise<Finding>) => Promise<void>

const runWriteProbes = async (context: ProbeContext, clearing: () => ProbeContext, note: RecordFinding) => {
  const found = findTestModule(context)
  const scratch = await found.catch(() => null)
  if (!scratch) {
    const explain = async () => {
      await found
      return unknownFinding('No module can be filled with text fields alone')
    }
    for (const probe of [...writeProbes, clearProbe]) await note(probe, explain)
    return
  }
  try {
    for (const probe of writeProbes) await note(probe, () => probe.run(context, scratch))
  } catch (error) {
    await deleteTestRecords(clearing(), scratch)
    throw error
  }
  await note(clearProbe, () => deleteTestRecords(clearing(), scratch))
}

const runProbe = async (report: DoctorReport, {id, fact, expected, consequence}: ProbeDescription, run: () => Promise<Finding>) => {
  const {seen, isExpected, capabilities = {}} = await run()
  const verdict: ProbeResult['verdict'] = isExpected === null ? 'unknown' : isExpected ? 'expected' : 'different'
  const follows =
    verdict === 'different' ? consequence : verdict === 'expected' ? 'None' : 'The connection keeps its earlier finding, or the default'
  report.probes.push({id, fact, expected, seen, verdict, consequence: follows})
  const {coqlLagSeconds: longest} = report.capabilities
  Object.assign(report.capabilities, capabilities)
  report.capabilities.coqlLagSeconds = Math.max(longest, report.capabilities.coqlLagSeconds)
}

/** Returns the finding of a probe whose call failed with a CrmError. An exhausted quota, a refused token and other errors end the doctor. */
const findingOf = (error: unknown): Finding => {
  if (!(error instanceof CrmError)) throw error
  if (error.crm.quotaSpent || isTokenRefused(error.crm)) throw refusalOf(error)
  return {seen: error.message, isExpected: null}
}

const isSandbox = ({type}: Json) => ['sandbox', 'developer'].includes(String(type).toLowerCase())

const openContext = async (sendCrmRequest: SendCrmRequest, counter: {calls: number}, signal: AbortSignal): Promise<ProbeContext> => {
  const ask = askBy(sendCrmRequest, counter, signal)
  const select = (select_query: string) => ask({method: 'POST', path: '/crm/v8/coql', json: {select_query}})
  // The calls run in sequence, so that an exhausted quota already shows in the answer to the first call.
  const org = await readFirst(ask, {path: '/crm/v8/org'})
  const user = await readFirst(ask, {path: '/crm/v8/users', query: {type: 'CurrentUser'}})
  const {rows: modules} = await ask({path: '/crm/v8/settings/modules'})
  const context = {ask, select, modules, org, user, sample: null, signal}
  return {...context, sample: await findSample(context)}
}

const askBy = (sendCrmRequest: SendCrmRequest, counter: {calls: number}, signal: AbortSignal) => (call: ProbeCall) =>
  readWithRetry(sendCrmRequest, counter, {call, signal})

const readFirst = async (ask: ProbeContext['ask'], call: ProbeCall): Promise<Json> => {
  const {rows, ...answer} = await ask(call)
  if (answer.status === 200 && rows[0]) return rows[0]
  const problem = readProblem({...answer, retryAfterMs: null, clockOffsetMs: null})
  throw problem
    ? refusalOf(new CrmError(problem))
    : new Refusal('CRM_REFUSED', `The CRM did not answer ${call.path}. Run the doctor again later`)
}

/**
 * Sends a call up to four times, and returns the CRM's answer, even a refusal. Repeats every call after a rate limit, but only reads, queries and
 * deletes after no answer. Throws a CrmError if no call was answered, the rate limit persists, the quota is exhausted or the token is refused.
 */
const readWithRetry = async (
  sendCrmRequest: SendCrmRequest,
  counter: {calls: number},
  {call, signal}: {call: ProbeCall; signal: AbortSignal},
): Promise<ProbeAnswer> => {
  const {method = 'GET', json, ...rest} = call
  const operation =
    method === 'DELETE'
      ? 'delete'
      : method === 'PUT'
        ? 'update'
        : call.path.endsWith('/coql')
          ? 'query'
          : call.path.endsWith('/restore')
            ? 'restore'
            : method === 'POST'
              ? 'create'
              : 'read'
  for (let tried = 1; ; tried++) {
    counter.calls++
    const outcome = await sendCrmRequest({
      ...rest,
      method,
      operation,
      signal,
      large: operation === 'query',
      ...(json !== undefined && {json: JSON.stringify(json)}),
    })
    const problem = readProblem(outcome)
    const isAnswer = !problem || (!problem.unanswered && !problem.rateLimited && !isTokenRefused(problem))
    if (isAnswer) return describeResult(outcome as CrmResponse)
    const mayRepeat = problem.retryable && !problem.quotaSpent && (problem.rateLimited || ['read', 'query', 'delete'].includes(operation))
    if (!mayRepeat || tried === mostTries) throw new CrmError(problem)
    await sleep(Math.min(problem.retryAfterMs ?? 500 * 2 ** tried, 10_000), undefined, {signal})
  }
}

const describeResult = ({status, json, creditsRemaining}: CrmResponse): ProbeAnswer => {
  const body = asObject(json)
  const list = Object.values(body ?? {}).find(Array.isArray) ?? []
  const rows = list.map(asObject).filter(row => row !== null)
  return {status, json, creditsRemaining, rows, code: codeOf(body) ?? (status >= 400 ? codeOf(rows[0]) : null)}
}
