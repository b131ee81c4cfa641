import type {Pool} from '../../../sql/database.ts'
import {listRules} from '../../../sql/decisions.ts'
import {listQuestions, type OpenRowQuestion} from '../../../sql/questions.ts'
import {mapConcurrent} from '../../concurrency/map-concurrent.ts'
import type {Config} from '../../config.ts'
import type {Crm, CrmRecord} from '../../crm/crm.ts'
import {idsAtOnce, readByIds} from '../../crm/records/by-ids.ts'
import {openModule} from '../../crm/records/module.ts'
import type {FoundRun} from '../../runs/find.ts'
import {assertKept} from '../../runs/kept.ts'
import {readCursor, writeCursor} from '../../security/cursor.ts'

type QuestionsDeps = {db: Pool; crm: Crm}
type Page = {limit: number; cursor?: string | undefined}

const callsAtOnce = 3

/** Returns one page of a run's questions and the current rules. Each question has its candidates as the CRM has them now. */
export const readQuestions = async (
  {db, crm, config}: QuestionsDeps & {config: Pick<Config, 'SECRETS_KEYS'>},
  foundRun: FoundRun,
  {limit, cursor}: Page,
  options: {signal: AbortSignal},
) => {
  const keys = config.SECRETS_KEYS
  const {run, snapshot} = foundRun
  assertKept(run)
  const list = `questions ${run.id}`
  const after = readCursor(keys, list, cursor)
  const place = {run: run.no, importNo: run.importNo!, decidedUpTo: snapshot?.decidedUpTo ?? 0}
  const page = await listQuestions(db, {...place, after: after === null ? null : String(after), limit: limit + 1})
  const questions = page.slice(0, limit)
  const records = await readCandidates({db, crm}, foundRun, questions, options)
  return {
    questions: questions.map(question => describe(question, records.get(question.module))),
    rules: await listRules(db, place.importNo),
    nextCursor: page.length > limit ? writeCursor(keys, list, questions.at(-1)!.key) : null,
  }
}

/** Describes a question. `candidates` has the records that still exist; `rowNumbers` has the first of the waiting rows. */
const describe = (question: OpenRowQuestion, records: Map<string, CrmRecord> | undefined) => {
  const {key, kind, flowId, module, field, found: foundRun, rows, numbers, choice, recordId, decidedBy, decidedAt} = question
  return {
    ...{key, kind, flowId, module, field, found: foundRun},
    candidates: question.candidates.flatMap(id => records?.get(id) ?? []),
    ...{rows, rowNumbers: numbers},
    answer: choice && {choice, recordId, by: decidedBy, at: decidedAt},
  }
}

type Records = Map<string, CrmRecord>

const readCandidates = async (
  deps: QuestionsDeps,
  {run, snapshot}: FoundRun,
  questions: OpenRowQuestion[],
  options: {signal: AbortSignal},
) => {
  const byModule = new Map<string, Records>()
  for (const [name, asking] of Map.groupBy(questions, ({module}) => module)) {
    const opened = await openModule(deps, {org: run.org, connector: run.connectorId!, module: name})
    const flows = snapshot!.flows.filter(({flow}) => flow.module === name && asking.some(({flowId}) => flowId === flow.id))
    const edited = asking.flatMap(({kind, field}) => (kind === 'edit' ? (field ?? []) : []))
    const fields = [...new Set([opened.module.namingField ?? '', ...flows.flatMap(({flow}) => flow.match?.by ?? []), ...edited])].filter(
      Boolean,
    )
    const ids = [...new Set(asking.flatMap(({candidates}) => candidates))]
    const calls = Array.from({length: Math.ceil(ids.length / idsAtOnce)}, (_, at) => ids.slice(at * idsAtOnce, (at + 1) * idsAtOnce))
    const read = await mapConcurrent(calls, callsAtOnce, part => readByIds(opened, {ids: part, fields, check: []}, options))
    byModule.set(name, new Map(read.flatMap(({records}) => records.flatMap(record => (record ? [[record.id, record] as const] : [])))))
  }
  return byModule
}
