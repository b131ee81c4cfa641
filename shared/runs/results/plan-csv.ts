import {bounded, type TextPiece} from '../../files/bounded.ts'
import {lineOf} from '../../files/csv/csv-line.ts'
import type {PlannedValues} from './planned-values.ts'
import {isLookupOutcome, type OutcomeEntry, type ResultModule, type RowOutcome} from './row-result.ts'

/** `fields`: the labels of the module's fields by API name. */
type PlanModule = ResultModule & {fields?: ReadonlyMap<string, string>}

type PlanCsvInput = {
  /** The outcomes of the rows, sorted by row number. */
  outcomes: AsyncIterable<RowOutcome[]>
  values?: AsyncIterable<PlannedValues[]>
  source?: string
  modules: PlanModule[]
  limit?: number
}

/**
 * Writes the plan of a dry run as CSV. `create`, `update`, `replace` (subform rows), `patch` and `restore` (of an undo) have one line per
 * field that would change; `Old` is the value in the CRM. A record without changes and a `delete` have one line. `skip`, `ask` and `fail`
 * have one line with the reason. Rows that the dry run did not reach have no line.
 */
export const writePlan = ({limit, ...planned}: PlanCsvInput): AsyncGenerator<Buffer, void, undefined> => bounded(piecesOf(planned), {limit})

const header = ['Row', 'Source', 'Module', 'Action', 'Record', 'Field', 'Old', 'New', 'Why']

async function* piecesOf({outcomes, values = nothing(), source = '', modules}: PlanCsvInput): AsyncGenerator<TextPiece> {
  const known = new Map(modules.map(module => [module.apiName, module]))
  const pending = openPending(values)
  try {
    yield {rows: 0, text: `${lineOf(header)}\r\n`}
    for await (const chunk of outcomes) {
      const found = await pending.through(chunk.at(-1)?.rowNumber ?? 0)
      const lines = chunk.flatMap(({rowNumber, entries}) => {
        const place = {rowNumber, source, modules: known, values: found.get(rowNumber) ?? []}
        return [...Map.groupBy(entries, ({module, flow}) => `${flow} ${module}`).values()].flatMap(of => planOf(of, place))
      })
      yield {rows: chunk.length, text: lines.map(cells => `${lineOf(cells)}\r\n`).join('')}
    }
  } finally {
    await pending.close()
  }
}

async function* nothing(): AsyncGenerator<PlannedValues[]> {}

/** Reads planned values up to the row that is being written. */
const openPending = (values: AsyncIterable<PlannedValues[]>) => {
  const iterator = values[Symbol.asyncIterator]()
  let waiting: PlannedValues[] = []
  let done = false
  const through = async (row: number) => {
    while (!done && (waiting.at(-1)?.row ?? 0) <= row) {
      const next = await iterator.next()
      if (next.done) done = true
      else waiting = waiting.concat(next.value)
    }
    const later = waiting.findIndex(one => one.row > row)
    const ready = later < 0 ? waiting : waiting.slice(0, later)
    waiting = later < 0 ? [] : waiting.slice(later)
    return Map.groupBy(ready, one => one.row)
  }
  return {through, close: () => iterator.return?.()}
}

type PlanRowInput = {rowNumber: number; source: string; modules: ReadonlyMap<string, PlanModule>; values: PlannedValues[]}

const planOf = (entries: OutcomeEntry[], {rowNumber, source, modules, values}: PlanRowInput): string[][] => {
  const asked = entries.filter(({outcome}) => outcome === 'would_ask')
  const isAsked = ({flow, outcome}: OutcomeEntry) => outcome === 'skipped' && asked.some(one => one.flow === flow)
  const looked = entries.filter(({outcome, phase}) => outcome === 'lookup' || (phase === 'edit' && outcome === 'skipped'))
  const written = entries.filter(entry => (entry.phase ?? 'write') === 'write' && !isAsked(entry))
  return [...asked, ...written, ...entries.filter(({phase}) => phase === 'patch')].flatMap(entry => {
    const steps = isLookupOutcome(entry, entries) ? looked : entry.phase === 'patch' ? [entry] : [entry, ...looked]
    const why = steps.map(describeStep).filter(Boolean)
    const module = modules.get(entry.module)
    const line = (field: string, old: string, now: string, more: string[] = []) => [
      String(rowNumber),
      source,
      module?.label ?? entry.module,
      stepOf(entry),
      entry.recordId ?? '',
      field,
      old,
      now,
      [...more, ...why].join('; '),
    ]
    if (entry.outcome !== 'planned') return [line('', '', '')]
    const of = values.find(({flow, phase}) => flow === entry.flow && phase === (entry.phase ?? 'write'))
    if (stepOf(entry) === 'delete' || (stepOf(entry) === 'restore' && !of)) return [line('', '', '')]
    if (!of) return [line('', '', '', ['the values were not kept'])]
    if (of.changes.length === 0) return [line('', '', '', ['nothing changes'])]
    return of.changes.map(([field, old, now]) => line(module?.fields?.get(field) ?? field, old, now))
  })
}

export const PLAN_ACTIONS = ['create', 'update', 'delete', 'restore', 'replace', 'patch', 'ask', 'skip', 'fail'] as const
export type PlanAction = (typeof PLAN_ACTIONS)[number]

/**
 * Returns the action of an entry of a dry run. The phase, the code or the beginning of the message shows the action of a planned entry; the
 * default is `create`.
 */
export const stepOf = ({outcome, phase, code, message}: Pick<OutcomeEntry, 'outcome' | 'phase' | 'code' | 'message'>): PlanAction => {
  if (outcome === 'planned' && code === 'DELETED') return 'delete'
  if (outcome === 'planned' && code === 'RESTORED') return 'restore'
  if (outcome === 'planned')
    return phase === 'patch' ? 'patch' : ((['update', 'replace'] as const).find(step => message?.startsWith(step)) ?? 'create')
  if (outcome === 'would_ask') return 'ask'
  return outcome === 'failed' || outcome === 'refused' ? 'fail' : 'skip'
}

const describeStep = ({outcome, target, code, message}: OutcomeEntry) => {
  if (outcome === 'planned' && (code === 'DELETED' || code === 'RESTORED')) return ''
  const isStepAlone = outcome === 'planned' && ['create', 'update', 'replace'].includes(message ?? '')
  const words = isStepAlone ? (code ?? '') : (message ?? code ?? '')
  return target && words ? `${target}: ${words}` : words
}
