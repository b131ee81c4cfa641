import {t} from '../text/decide.ts'
import {count} from '../ui/format.ts'
import {sayName} from '../ui/labels.ts'

type AnswerName = 'create' | 'skip' | 'overwrite' | 'keep'
/** The answer to a question: the record of a candidate, or an action without a record. */
export type Choice = {recordId: string} | {choice: AnswerName}
export type Candidate = {id: string; $display_name?: string; $url?: string | null} & Record<string, unknown>
export type Question = {
  key: string
  kind: 'match' | 'lookup' | 'edit'
  flowId: string
  module: string
  field: string | null
  found: number
  candidates: Candidate[]
  /** Absent in responses of earlier versions of Lading. */
  fields?: {apiName: string; label: string; type: string}[]
  rows: number
  rowNumbers: number[]
  answer: {choice: 'record' | 'first' | 'ask' | AnswerName; recordId: string | null; at: string} | null
}
/** `field`: for edited values, the field whose questions the rule answers. */
export type Rule = {flowId: string; kind: Question['kind']; field?: string | null; choice: 'first' | 'ask' | AnswerName}
export type Answers = Record<string, Choice>

export const answersOf = (answers: Answers): ({key: string} & Choice)[] =>
  Object.entries(answers).map(([key, choice]) => ({key, ...choice}))

/** Returns the drafts that are still unsaved after `sent` was saved. A choice that changed meanwhile stays. */
export const withoutSaved = (drafts: Answers, sent: Answers): Answers =>
  Object.fromEntries(Object.entries(drafts).filter(([key, choice]) => !isSame(sent[key] ?? null, choice)))

/**
 * Returns the answer to show: the unsaved draft, else the person's saved answer, else null. The choices `first` and `ask` come from rules and are
 * ignored.
 */
export const chosenOf = ({answer}: Question, draft: Choice | undefined): Choice | null => {
  if (draft) return draft
  if (answer?.choice === 'record' && answer.recordId !== null) return {recordId: answer.recordId}
  const {choice} = answer ?? {}
  return choice && choice !== 'record' && choice !== 'first' && choice !== 'ask' ? {choice} : null
}

export const isSame = (a: Choice | null, b: Choice): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Lists the rows of a question: "rows 7, 507 and 4 more". */
export const sayRows = ({rows, rowNumbers}: Pick<Question, 'rows' | 'rowNumbers'>, most = 6): string => {
  const shown = rowNumbers.slice(0, most).map(number => count(number))
  if (rows === 1) return t.rowOne(shown[0] ?? '')
  const more = rows - shown.length
  return more > 0 ? t.rowsAndMore(shown.join(', '), count(more)) : t.rowsAnd(shown.slice(0, -1).join(', '), shown.at(-1))
}

export const sayValue = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(sayValue).join('; ')
  if (typeof value === 'object') return sayValue((value as {name?: unknown}).name ?? JSON.stringify(value))
  return String(value)
}

/** Returns the label of a field of the candidates. Without a label, it is the API name in words. */
export const labelOfField = ({fields = []}: Pick<Question, 'fields'>, field: string): string =>
  fields.find(({apiName}) => apiName === field)?.label ?? sayName(field)

/** Groups questions by flow and kind, and edit questions also by field. Returns for each group the numbers of questions and rows. */
export const askersOf = (
  questions: Question[],
): {
  flowId: string
  kind: Question['kind']
  field: string | null
  label: string | null
  module: string
  questions: number
  rows: number
}[] =>
  [...Map.groupBy(questions, ({flowId, kind, field}) => `${kind} ${flowId} ${kind === 'edit' ? field : ''}`).values()].map(of => ({
    flowId: of[0]!.flowId,
    kind: of[0]!.kind,
    field: of[0]!.kind === 'edit' ? of[0]!.field : null,
    label: of[0]!.field && labelOfField(of[0]!, of[0]!.field),
    module: of[0]!.module,
    questions: of.length,
    rows: of.reduce((sum, {rows}) => sum + rows, 0),
  }))
