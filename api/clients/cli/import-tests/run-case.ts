import {readFile} from 'node:fs/promises'
import {basename} from 'node:path'
import {followRun} from '../../follow-run.ts'
import {type Json, readPages} from '../../http.ts'
import {badFile} from '../failure.ts'
import type {Session} from '../session.ts'
import type {CaseAnswer, ImportCase} from './case.ts'
import {type CrmOrg, compareRecords, isSame, writeRecords} from './crm-records.ts'
import {type Difference, differ, orDifferences, show} from './difference.ts'
import {chainCounts, chainRows, compareCounts, compareRows, readRows} from './outcomes.ts'

/**
 * `templates` are keyed by name. `crmOf` returns the CRM org of a connection at the stand-in, or of the first connection if the id is null or
 * unknown.
 */
export type CaseSetting = {
  session: Session
  templates: Map<string, Json>
  crmOf(connectorId: string | null): CrmOrg & {connectorId: string}
}

/** The API names only the first 20 rows of a question. */
const noQuestion = 'no such question has this row among its first 20 rows'

/** The longest duration of a run, in ms. A longer run fails its case. */
const longestRunMs = 60_000

export const runCase = (setting: CaseSetting, one: ImportCase): Promise<Difference[]> =>
  orDifferences(async () => {
    const template = setting.templates.get(one.template)
    if (!template)
      return [
        differ(`The configuration has no shared template ${one.template}, or its connection is not in discovery.json. Add what is missing`),
      ]
    const crm = setting.crmOf(template.connectorId)
    const unwritten = await writeRecords(crm, one.crm)
    if (unwritten.length > 0) return unwritten
    const {importId, slots} = await createImport(setting.session, one, {template, connectorId: crm.connectorId})
    const runs = [await runImport(setting.session, importId, {})]
    if (one.answers.length > 0) {
      const unanswered = await answerQuestions(setting.session, runs[0]!, one.answers)
      if (unanswered.length > 0) return unanswered
      runs.push(await runImport(setting.session, importId, {retryOf: runs[0]!.id}))
    }
    return [
      ...stopOf(runs.at(-1)!),
      ...(await compare(setting.session, one, {runs, slots})),
      ...(await compareRecords(crm, one.expect.records ?? {})),
    ]
  })

const stopOf = ({stop}: Json): Difference[] => (stop ? [differ(`The run was stopped: ${stop.stopped} ${stop.message ?? ''}`.trim())] : [])

type RanCase = {runs: Json[]; slots: Record<string, string>}

const compare = async (session: Session, {expect: {counts, rows}}: ImportCase, {runs, slots}: RanCase): Promise<Difference[]> => {
  const read = chainRows(await Promise.all(runs.map(run => readRows(session, run, slots))))
  return [...(counts ? compareCounts(counts, chainCounts(runs), read) : []), ...(rows ? compareRows(rows, read) : [])]
}

/** Creates an import of the template and fills its slots. Returns the slot of each source. */
const createImport = async ({client, path}: Session, one: ImportCase, {template, connectorId}: {template: Json; connectorId: string}) => {
  const body = {name: one.name.slice(0, 200), templateId: template.id, ...(!template.connectorId && {connectorId})}
  const {import: made} = await client.post(path('imports'), body)
  const slots: Record<string, string> = {}
  for (const [named, file] of Object.entries(one.files)) {
    const slot = named || template.sources[0].slot
    const bytes = await readFile(file).catch(error => {
      throw badFile(`${file}: ${error.message}`, `Fix the files of the case ${one.name}`)
    })
    const headers = {'content-type': 'application/octet-stream'}
    const {source} = (
      await client.call('POST', path(`imports/${made.id}/sources`), {query: {name: basename(file), slot}, body: bytes, headers})
    ).body
    slots[source.id] = slot
  }
  const {import: found} = await client.get(path(`imports/${made.id}`))
  const bound = Object.fromEntries(Object.entries(slots).map(([source, slot]) => [slot, source]))
  if (found.state !== 'ready') await client.put(path(`imports/${made.id}/slots`), bound)
  return {importId: made.id as string, slots}
}

/** Starts a run and returns it once it has ended. Verification is off, because the case itself compares the records. */
const runImport = async ({client, path}: Session, importId: string, body: object): Promise<Json> => {
  const {run} = await client.post(path(`imports/${importId}/runs`), {...body, verify: 'off'})
  const at = path(`imports/${importId}/runs/${run.id}`)
  const signal = AbortSignal.timeout(longestRunMs)
  for await (const {event} of followRun({client, path: at, signal})) if (event === 'end') break
  return (await client.get(at)).run
}

/** Answers the questions of a run. Returns a difference for each answer that fits no question or no candidate, and then sends nothing. */
const answerQuestions = async ({client, path}: Session, run: Json, given: readonly CaseAnswer[]): Promise<Difference[]> => {
  const at = path(`imports/${run.importId}/runs/${run.id}/questions`)
  const questions: Json[] = await Array.fromAsync(readPages(client, at, 'questions', {limit: 50}))
  const single = given.filter(({row}) => row !== undefined)
  const differences: Difference[] = []
  const answers = single.flatMap(({row, flow = null, field = null, kind = null, choice = 'skip', record}): Json[] => {
    const asked = questions.filter(
      one =>
        one.rowNumbers.includes(row) &&
        matchesQuestion(flow, one.flowId) &&
        matchesQuestion(field, one.field) &&
        matchesQuestion(kind, one.kind),
    )
    // A question about an edited value shows a candidate, but an answer cannot select it.
    const find = ({kind: asks, candidates}: Json) =>
      asks !== 'edit' && candidates.find((one: Json) => Object.entries(record!).every(([name, value]) => isSame(value, one[name])))
    const place = {row: row!, field}
    if (asked.length === 0) differences.push(differ(noQuestion, place))
    else if (record && !asked.some(find)) differences.push(differ(`no candidate has ${show(record)}`, place))
    if (!record) return asked.map(({key}) => ({key, choice}))
    return asked.flatMap(question => {
      const chosen = find(question)
      return chosen ? [{key: question.key, recordId: chosen.id}] : []
    })
  })
  const rules = given
    .filter(({row}) => row === undefined)
    .map(({flow, kind, field, choice}) => ({flowId: flow, ...(kind && {kind}), ...(field && {field}), choice}))
  if (differences.length === 0 && answers.length + rules.length > 0) await client.post(at, {answers, rules})
  return differences
}

/** Whether a key of an answer matches the question. Null matches every question. */
const matchesQuestion = (wanted: unknown, actual: unknown) => wanted === null || wanted === actual
