import {bounded, type Piece} from './bounded.ts'
import {lineOf} from './csv-line.ts'
import {isToldByLookup, type Module, type OutcomeEntry, type RowOutcome} from './row-result.ts'

export type Planned = {
  /** Sorted by row number. */
  outcomes: AsyncIterable<RowOutcome[]>
  modules: Module[]
  limit?: number
}

/**
 * What a dry run would have done, one line a row and module: `create`, `update` with the record, `skip`, `ask`, or `fail`, each with why.
 * Rows it did not come to have no line. Values are not in it: a run keeps none, neither the row's nor the record's.
 */
export const writePlan = ({outcomes, modules, limit}: Planned): AsyncGenerator<Buffer, void, undefined> =>
  bounded(piecesOf(outcomes, modules), limit)

async function* piecesOf(outcomes: AsyncIterable<RowOutcome[]>, modules: Module[]): AsyncGenerator<Piece> {
  const labels = new Map(modules.map(({apiName, label}) => [apiName, label]))
  yield {rows: 0, text: `${lineOf(['Row', 'Module', 'Do', 'Record', 'Why'])}\r\n`}
  for await (const chunk of outcomes) {
    const lines = chunk.flatMap(({rowNumber, entries}) =>
      [...Map.groupBy(entries, ({module, flow}) => `${flow} ${module}`).values()].flatMap(of => planOf(of, rowNumber, labels)),
    )
    yield {rows: chunk.length, text: lines.map(cells => `${lineOf(cells)}\r\n`).join('')}
  }
}

/** Of one row in one module by one flow. */
const planOf = (entries: OutcomeEntry[], rowNumber: number, labels: Map<string, string>): string[][] => {
  const asked = entries.find(({outcome}) => outcome === 'would_ask')
  const looked = entries.filter(({outcome}) => outcome === 'lookup')
  const decided = asked ? [asked] : entries.filter(({phase = 'write'}) => phase === 'write')
  return decided.map(entry => {
    const told = isToldByLookup(entry, entries) ? looked : [entry, ...looked]
    const why = told.map(say).filter(Boolean).join('; ')
    return [String(rowNumber), labels.get(entry.module) ?? entry.module, stepOf(entry), entry.recordId ?? '', why]
  })
}

/** A planned entry's message begins with its step. */
const stepOf = ({outcome, message}: OutcomeEntry) => {
  if (outcome === 'planned') return message?.startsWith('update') ? 'update' : 'create'
  if (outcome === 'would_ask') return 'ask'
  return outcome === 'failed' || outcome === 'refused' ? 'fail' : 'skip'
}

const say = ({outcome, target, code, message}: OutcomeEntry) => {
  const isStepAlone = outcome === 'planned' && (message === 'create' || message === 'update')
  const words = isStepAlone ? (code ?? '') : (message ?? code ?? '')
  return target && words ? `${target}: ${words}` : words
}
