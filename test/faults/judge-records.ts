import type {Deployment} from '../support/deployment.ts'
import {finalsOf} from '../support/oracle.ts'
import type {Part} from './cases.ts'
import type {EndedRunState, Errors, JudgeReport} from './judge.ts'
import {compareLine, type Line, readFailed, readResults, saysCause, saysMayExist, saysTwice, suspectedIn} from './judge-files.ts'

type Crm = Deployment['crm']
type Find = (kind: keyof Errors, what: string) => void
type CrmRecord = ReturnType<Crm['records']>[number]

/**
 * What one import reports about the rows of a flow. `own`: log entries of all its runs. `finals`: the final entry of each row in the last run.
 * `lines`: results.csv. `failed`: tags in failed.csv, or null if failed.csv was not read.
 */
type View = {own: any[]; finals: Map<number, any>; lines: Line[]; failed: string[] | null; isStopped: boolean}

export type PartCase = {
  crm: Crm
  crmOrg: string
  part: Part
  /** For each import, the runs of its retry chain in order. */
  chains: EndedRunState[][]
  /** Ids of records that existed before the import. */
  known: Set<string>
  /** Ids of records that the second delivery of a request created. They do not count. */
  repeated: Set<string>
}

/** Judges the rows of one flow: their outcomes, their lines in the files, and the records of the CRM. */
export const judgePart = ({crm, crmOrg, part, chains, known, repeated}: PartCase, find: Find, told: JudgeReport) => {
  const {flow, module, field, tags} = part
  const views = chains.map(chain => readView(part, chain))
  const all = new Map(crm.records(crmOrg, module).map(record => [record.id, record]))
  const mine = new Set(tags)
  const records = [...all.values()].filter(record => mine.has(record[field]) && !repeated.has(record.id))
  const claims = new Map<string, View>()
  for (const view of views) {
    if (view.lines.length !== tags.length) find('resultErrors', `${part.source}: ${view.lines.length} lines of ${tags.length} rows`)
    for (const [at, tag] of tags.entries()) {
      judgeRow({part, view, all, tag, row: at + 1}, find)
      const final = view.finals.get(at + 1)
      if (!final || !isWritten(final)) continue
      const other = claims.get(final.recordId)
      if (other && other !== view && final.outcome === 'created')
        find('duplicated', `record ${final.recordId} is claimed by two imports, by row ${at + 1} of ${flow} too`)
      claims.set(final.recordId, view)
    }
    judgeFailed(part, view, find)
    judgeMade(part, view, find)
    if (part.parents) judgeLinks({crm, crmOrg, part, view}, find)
    if (part.matched) judgeKeys({part, view, records, known}, find)
    if (part.values) judgeValues({part, view, all}, find)
    count(part, view, told)
  }
  const disclosed = views.map(view => countDisclosed(view))
  const byTag = Map.groupBy(records, record => record[field] as string)
  for (const tag of mine) {
    const held = byTag.get(tag) ?? []
    if (part.unique && held.length > 1) find('duplicated', `${held.length} records of ${tag}`)
    const rows = tags.flatMap((one, at) => (one === tag ? [at + 1] : []))
    const extra = held.filter(({id}) => !claims.has(id) && !known.has(id)).length
    const saidOf = disclosed.reduce((sum, rowsTold) => sum + rows.reduce((more, row) => more + (rowsTold.get(row) ?? 0), 0), 0)
    told.twice += Math.min(extra, saidOf)
    for (let n = saidOf; n < extra; n++) find('undisclosed', `a record of ${tag} that no row of ${flow} (${rows}) tells of`)
    const failed = views.reduce((sum, view) => sum + (view.failed?.filter(one => one === tag).length ?? 0), 0)
    for (let n = saidOf; n < Math.min(extra, saidOf + failed); n++) find('failedErrors', `${tag} is in failed.csv and at the CRM`)
  }
}

const readView = ({flow, source, column}: Part, chain: EndedRunState[]): View => {
  const {run, log, results, failed} = chain.at(-1)!
  const ofFlow = (entries: any[]) => entries.filter(({flowId}) => flowId === flow)
  return {
    own: chain.flatMap(({log: entries}, at) => ofFlow(entries).map(entry => ({...entry, at}))),
    finals: finalsOf(ofFlow(log)),
    lines: readResults(results[source]!),
    failed: failed && column ? readFailed(failed[source]!, column) : null,
    isStopped: Boolean(run.stop),
  }
}

type RowCase = {part: Part; view: View; all: Map<string, CrmRecord>; tag: string; row: number}

const judgeRow = ({part: {flow, field}, view, all, tag, row}: RowCase, find: Find) => {
  const final = view.finals.get(row)
  const line = view.lines[row - 1]
  if (!final && !view.isStopped) find('lost', `row ${row} of ${flow} has no end`)
  for (const wrong of compareLine(final, line)) find('resultErrors', `row ${row} of ${flow} ${wrong}`)
  for (const id of line ? suspectedIn(line) : []) {
    const record = all.get(id)
    if (record && record[field] !== tag)
      find('wrongIds', `row ${row} of ${flow} is told that record ${id} may be its own, of ${record[field]}`)
  }
  if (!final || !isWritten(final)) return
  const record = all.get(final.recordId)
  if (!record) find('lost', `row ${row} of ${flow} is ${final.outcome} as ${final.recordId}, which is not there`)
  else if (record[field] !== tag) find('wrongIds', `row ${row} of ${flow} is ${final.outcome} as ${record.id}, of ${record[field]}`)
}

const isWritten = ({outcome, recordId}: any) => ['created', 'updated', 'inherited'].includes(outcome) && recordId !== null

/** Reports a row that created several records, and a record that several rows created. */
const judgeMade = ({flow}: Part, {own}: View, find: Find) => {
  const makers = new Map<string, number>()
  const made = own.filter(({phase, outcome}) => phase === 'write' && outcome === 'created')
  for (const [row, entries] of Map.groupBy(made, ({rowNumber}) => rowNumber as number)) {
    if (entries.length > 1) find('duplicated', `row ${row} of ${flow} is created ${entries.length} times`)
    for (const {recordId} of entries) {
      const other = makers.get(recordId)
      if (other !== undefined && other !== row) find('duplicated', `rows ${other} and ${row} of ${flow} both made ${recordId}`)
      makers.set(recordId, row)
    }
  }
}

/** Reports a written record that is not linked to the account in the file, unless the log reports a failed link. */
const judgeLinks = ({crm, crmOrg, part, view: {own, finals}}: {crm: Crm; crmOrg: string; part: Part; view: View}, find: Find) => {
  const {flow, module, parents} = part
  const {field, tags} = parents!
  const accounts = new Map(crm.records(crmOrg, 'Accounts').map(({id, Account_Number}) => [Account_Number, id]))
  const records = new Map(crm.records(crmOrg, module).map(record => [record.id, record]))
  const patches = finalsOf(own.filter(({phase}) => phase === 'patch').map(entry => ({...entry, phase: 'write'})))
  const told = new Set(own.filter(({phase}) => phase === 'lookup').map(({rowNumber}) => rowNumber))
  for (const [row, {outcome}] of patches) if (outcome !== 'updated') told.add(row)
  for (const [row, final] of finals) {
    if (!isWritten(final) || told.has(row)) continue
    const linked = records.get(final.recordId)?.[field]?.id ?? null
    const owner = accounts.get(tags[row - 1]) ?? null
    if (linked !== owner) find('wrongParents', `row ${row} of ${flow} belongs to ${owner}, and its record to ${linked}`)
  }
}

type KeyCase = {part: Part; view: View; records: CrmRecord[]; known: Set<string>}

/** Reports rows with the same match key that created different records, unless the later row gives the cause. */
const judgeKeys = ({part: {flow, tags, field}, view: {finals, lines}, records, known}: KeyCase, find: Find) => {
  const made = Map.groupBy(
    records.filter(({id}) => !known.has(id)),
    record => record[field] as string,
  )
  const rows = Map.groupBy(tags.keys(), at => tags[at]!)
  for (const [tag, held] of made) {
    if (held.length < 2) continue
    const ends = rows.get(tag)!.map(at => ({row: at + 1, final: finals.get(at + 1), line: lines[at]}))
    for (const [at, {row, final, line}] of ends.entries()) {
      if (!final || !['created', 'inherited'].includes(final.outcome) || known.has(final.recordId) || (line && saysCause(line))) continue
      const before = ends.slice(0, at).find(other => other.final && isOther(other.final, final))
      if (before) find('undisclosed', `rows ${before.row} and ${row} of ${flow} have one key, ${tag}, and made two records`)
    }
  }
}

/** Whether the earlier row was unanswered and has no record, or has another record than the later row. */
const isOther = (before: any, {recordId}: any) =>
  before.outcome === 'unanswered' ? before.recordId === null : before.recordId !== null && before.recordId !== recordId

/** Reports a record without the value of the last row that wrote it, unless the result of a row with the same key gives the cause. */
const judgeValues = (
  {part: {flow, tags, values}, view: {finals, lines}, all}: {part: Part; view: View; all: Map<string, CrmRecord>},
  find: Find,
) => {
  for (const [tag, rows] of Map.groupBy(tags.keys(), at => tags[at]!)) {
    const last = rows.findLast(at => finals.has(at + 1) && isWritten(finals.get(at + 1)))
    if (last === undefined || rows.some(at => lines[at] && saysCause(lines[at]))) continue
    const held = all.get(finals.get(last + 1).recordId)?.[values!.field]
    if (held !== undefined && held !== values!.cells[last])
      find('oldValues', `row ${last + 1} of ${flow} wrote ${values!.cells[last]}, and ${tag} holds ${held}`)
  }
}

/** Reports a failed.csv that does not hold exactly the failed rows of results.csv, without rows whose record may exist. */
const judgeFailed = ({source, tags}: Part, {lines, failed}: View, find: Find) => {
  if (!failed) return
  const wanted = lines.flatMap((line, at) => (line.result === 'Failed' && !saysMayExist(line) ? [tags[at]!] : []))
  if (wanted.join() !== failed.join())
    find('failedErrors', `failed.csv of ${source} has ${failed.length} rows of ${wanted.length} that failed`)
}

/** Adds to the report the number of rows, unanswered rows and failed rows, and of unnecessary warnings about a second record. */
const count = ({tags, unique}: Part, {lines, failed}: View, told: JudgeReport) => {
  told.rows += tags.length
  told.unanswered += lines.filter(({result}) => result === 'No answer').length
  told.failed += failed?.length ?? 0
  if (unique) told.needless += lines.filter(saysTwice).length
}

/**
 * For each row, returns how many additional records its results disclose: its unanswered creates without a record. Rows whose line of
 * results.csv does not say that a record may exist are left out.
 */
const countDisclosed = ({own, lines}: View) => {
  const told = new Map<number, number>()
  for (const [row, entries] of Map.groupBy(own, ({rowNumber}) => rowNumber as number)) {
    const line = lines[row - 1]
    if (!line || !saysMayExist(line)) continue
    const silent = entries.filter(({phase, outcome, recordId}) => phase === 'write' && outcome === 'unanswered' && recordId === null)
    told.set(row, new Set(silent.map(({at, attempt}) => `${at} ${attempt}`)).size)
  }
  return told
}
