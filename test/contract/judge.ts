import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import type {Exchange} from '../simulators/crm/exchanges.ts'
import type {Checker, Difference} from './checker.ts'
import type {NewerOperation} from './newer-operations.ts'
import {findProbe, type ProbeRequest} from './probe-requests.ts'

/**
 * The result of a check. `spoiled`: answers that a fault changed. `driven`: operations that the adapter called. `unchecked`: requests of
 * operations that the documents are too old for; `newer` names these operations. `probed`: differences of probe requests. `unsent`: probe
 * requests that no exchange has.
 */
export type Verdict = {
  requests: number
  answers: number
  spoiled: number
  driven: Set<string>
  differences: Finding[]
  probed: number
  unchecked: number
  newer: Set<string>
  unsent: ProbeRequest[]
}
/** A difference, with the number of times it occurred and its first exchange. */
export type Finding = Difference & {count: number; example: Exchange}

/** The faults whose answers are not checked, because the CRM would not give them. */
const spoiling = [
  'truncateAfter',
  'status5xxBefore',
  'status5xxAfter',
  'nonJson',
  'emptyBody',
  'successNoId',
  'shortData',
  'wrongId',
  'shuffleData',
  'redirect',
  'answer',
  'rateLimit',
  'refuse',
]

/** Differences that are expected. */
type KnownFaults = {probes: ProbeRequest[]; newer?: NewerOperation[]}

/**
 * Checks the adapter's requests and the simulator's answers. Skips requests of the tests, answers that a fault changed, and operations that are
 * newer than the documents.
 */
export const judgeExchanges = (checker: Checker, exchanges: Iterable<Exchange>, {probes, newer = []}: KnownFaults): Verdict => {
  const verdict: Verdict = {
    requests: 0,
    answers: 0,
    spoiled: 0,
    driven: new Set(),
    differences: [],
    probed: 0,
    unchecked: 0,
    newer: new Set(),
    unsent: [],
  }
  const sent = new Set<ProbeRequest>()
  const findings = new Map<string, Finding>()
  const keep = (example: Exchange) => (difference: Difference) => {
    const probe = findProbe(probes, difference, example)
    if (probe) {
      verdict.probed++
      sent.add(probe)
      return
    }
    const {operation, side, status, place, message} = difference
    const key = [operation, side, status, place.replaceAll(/\/\d+(?=\/|$)/g, '/*'), message].join(' ')
    const known = findings.get(key)
    if (known) known.count++
    else findings.set(key, {...difference, count: 1, example})
  }
  for (const exchange of exchanges) {
    const isAdapters = exchange.caller === null
    const newerOperation = findNewer(newer, exchange, checker.operationOf(exchange))
    if (newerOperation) {
      if (isAdapters) verdict.unchecked++
      if (isAdapters) verdict.newer.add(newerOperation.operation)
      continue
    }
    const isSpoiled = exchange.faults.some(fault => spoiling.includes(fault))
    if (isAdapters) {
      verdict.requests++
      verdict.driven.add(checker.operationOf(exchange) ?? '')
      checker.request(exchange).forEach(keep(exchange))
    }
    verdict[isSpoiled ? 'spoiled' : 'answers']++
    if (!isSpoiled) checker.answer(exchange).forEach(keep(exchange))
  }
  const differences = [...findings.values()].sort((one, other) => other.count - one.count)
  return {...verdict, differences, unsent: probes.filter(probe => !sent.has(probe))}
}

const findNewer = (newer: NewerOperation[], {method, path}: Exchange, found: string | null) =>
  newer.find(one => one.method === method && one.path.test(path) && one.operation !== found)

/** Reads the exchanges that the simulators of a test run recorded. */
export function* readExchanges(folder: string): Generator<Exchange> {
  for (const name of readdirSync(folder))
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) if (line !== '') yield JSON.parse(line)
}
