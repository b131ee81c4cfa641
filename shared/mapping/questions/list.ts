import type {Pool} from '../../../sql/database.ts'
import {listRules} from '../../../sql/decisions.ts'
import {listQuestions, type OpenRowQuestion} from '../../../sql/questions.ts'
import {mapConcurrent} from '../../concurrency/map-concurrent.ts'
import type {Config} from '../../config.ts'
import type {Crm, CrmRecord} from '../../crm/crm.ts'
import {idsAtOnce, readByIds} from '../../crm/records/by-ids.ts'
import {openModule} from '../../crm/records/module.ts'
import {Refusal} from '../../errors.ts'
import type {FoundRun} from '../../runs/find.ts'
import {assertKept} from '../../runs/kept.ts'
import {readCursor, writeCursor} from '../../security/cursor.ts'
import type {Flow} from '../flows/flow.ts'

type QuestionsDeps = {db: Pool; crm: Crm}
type Page = {limit: number; cursor?: string | undefined}

const callsAtOnce = 3

/** Reads a page of the run's questions from the database, and the candidates of each question from the CRM. */
export const readQuestions = async (
  {db, crm, config}: QuestionsDeps & {config: Pick<Config, 'SECRETS_KEYS'>},
  foundRun: FoundRun,
  {limit, cursor}: Page,
  options: {signal: AbortSignal; urlOf: RecordUrls},
) => {
  const keys = config.SECRETS_KEYS
  const {run, snapshot, unread} = foundRun
  assertKept(run)
  if (unread) throw unread
  const list = `questions ${run.id}`
  const after = readCursor(keys, list, cursor)
  const place = {run: run.no, importNo: run.importNo!, decidedUpTo: snapshot?.decidedUpTo ?? 0}
  const page = await listQuestions(db, {...place, after: after === null ? null : String(after), limit: limit + 1})
  const questions = page.slice(0, limit)
  const read = await readCandidates({db, crm}, foundRun, questions, options)
  return {
    questions: questions.map(question => describe(question, read.get(question.module), options.urlOf)),
    rules: await listRules(db, place.importNo),
    nextCursor: page.length > limit ? writeCursor(keys, list, questions.at(-1)!.key) : null,
  }
}

/** `candidates`: the records that still exist. `rows`: the number of waiting rows. `rowNumbers`: the numbers of the first 20 waiting rows. */
const describe = (question: OpenRowQuestion, read: ReadModule | undefined, urlOf: RecordUrls) => {
  const {key, kind, flowId, module, field, found: foundRun, rows, numbers, choice, recordId, decidedBy, decidedAt} = question
  return {
    key,
    kind,
    flowId,
    module,
    field,
    found: foundRun,
    candidates: question.candidates.flatMap(id => {
      const record = read?.records.get(id)
      return record ? [{...record, $url: urlOf(module, id)}] : []
    }),
    fields: read?.fields ?? [],
    rows,
    rowNumbers: numbers,
    answer: choice && {choice, recordId, by: decidedBy, at: decidedAt},
  }
}

type RecordUrls = (module: string, recordId: string | null) => string | null
type CandidateField = {apiName: string; label: string; type: string}
type ReadModule = {records: Map<string, CrmRecord>; fields: CandidateField[]}

/** Reads the candidates by module. Leaves out a module that the newest discovery lacks, so that its questions can still be answered. */
const readCandidates = async (
  deps: QuestionsDeps,
  {run, snapshot}: FoundRun,
  questions: OpenRowQuestion[],
  options: {signal: AbortSignal},
) => {
  const byModule = new Map<string, ReadModule>()
  for (const [name, asking] of Map.groupBy(questions, ({module}) => module)) {
    const opened = await openModule(deps, {org: run.org, connector: run.connectorId!, module: name}).catch(nullIfRemoved)
    if (!opened) continue
    const {namingField, fields: known} = opened.module
    const wanted = fieldsToRead(asking, {namingField, known, flows: snapshot!.flows.map(({flow}) => flow)})
    const fields = wanted.flatMap(apiName => {
      const field = known.find(one => one.apiName === apiName)
      return field ? [{apiName, label: field.label, type: field.type}] : []
    })
    const ids = [...new Set(asking.flatMap(({candidates}) => candidates))]
    const calls = Array.from({length: Math.ceil(ids.length / idsAtOnce)}, (_, at) => ids.slice(at * idsAtOnce, (at + 1) * idsAtOnce))
    const names = {fields: fields.map(({apiName}) => apiName), check: []}
    const read = await mapConcurrent(calls, callsAtOnce, part => readByIds(opened, {ids: part, ...names}, options))
    const records = read.flatMap(({records}) => records.flatMap(record => (record ? [[record.id, record] as const] : [])))
    byModule.set(name, {records: new Map(records), fields})
  }
  return byModule
}

const nullIfRemoved = (error: unknown): null => {
  if (error instanceof Refusal && error.code === 'MODULE_NOT_FOUND') return null
  throw error
}

/** A call reads at most 50 fields for one credit. */
const mostFields = 50

type FieldsInput = {namingField: string | null; known: {apiName: string}[]; flows: Flow[]}

/** Returns at most 50 fields by which a person distinguishes the candidates of one module. The fields of the questions come first. */
const fieldsToRead = (asking: OpenRowQuestion[], {namingField, known, flows}: FieldsInput): string[] => {
  const flowOf = ({flowId}: OpenRowQuestion) => flows.find(({id}) => id === flowId)
  const matching = asking.flatMap(question => (question.kind === 'match' ? (flowOf(question) ?? []) : []))
  const asked = asking.flatMap(question => {
    if (question.kind === 'edit') return question.field ?? []
    return question.kind === 'lookup' ? (flowOf(question)?.fields.find(({field}) => field === question.field)?.searchField ?? []) : []
  })
  const mapped = matching.flatMap(({fields}) => fields.flatMap(({field, mode}) => (mode === 'skip' ? [] : field)))
  const others = asking.every(({kind}) => kind === 'edit') ? [] : known.map(({apiName}) => apiName)
  const names = [...asked, namingField ?? '', 'Created_Time', ...matching.flatMap(({match}) => match?.by ?? []), ...mapped, ...others]
  return [...new Set(names)].filter(Boolean).slice(0, mostFields)
}
