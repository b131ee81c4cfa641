import type {Source} from '../../../sql/sources.ts'
import {suggestValues, type ValueSuggestion} from '../../assistant/matcher/suggest-values.ts'
import {Refusal} from '../../errors.ts'
import {Choices, readingsOf} from '../../files/choices.ts'
import {type Estimate, openEstimate} from '../../files/estimate.ts'
import {evidenceOf} from '../../files/sources/evidence.ts'
import {fileGone} from '../../files/sources/read.ts'
import {type FileDeps, openFile} from '../../files/stored-file.ts'
import {openBadBytes} from '../../files/text/bad-bytes.ts'
import {StorageMissing} from '../../storage/missing.ts'
import type {FieldShape} from '../flows/converted.ts'
import {fold} from '../flows/picklist.ts'
import {isOption, valuesIn} from '../flows/value-map.ts'

const mostValues = 1_000
/** Maximum number of characters of a `from` in a value map. A longer value cannot have an entry. */
const longestValue = 300
const longestMs = 30_000

export type ValuesInput = {
  source: Pick<Source, 'fileKey' | 'reader' | 'cleaning' | 'choices' | 'evidence'>
  column: string
  /** The field that the column fills. Its options are proposed for the values. Null: nothing is proposed. */
  field: FieldShape | null
}

/**
 * `option`: whether the field accepts the value without an entry in the value map. `suggestion`: null for an option, and if no option fits. Both are
 * null if no field was given.
 */
type ColumnValue = {value: string; count: number; option: boolean | null; suggestion: ValueSuggestion | null}

/**
 * Counts the distinct values of a column, most frequent first, and returns JSON in UTF-8. Stops after 30 s, with `complete: false`. As in a value
 * map, letter case and surrounding blanks do not distinguish values. To limit memory, lists only the first 1,000 values of at most 300 characters,
 * and estimates the number of others. Leaves out ragged rows and rows that cleaning excluded.
 */
export const readColumnValues = async (deps: FileDeps, input: ValuesInput): Promise<Uint8Array<ArrayBuffer>> => {
  try {
    return new TextEncoder().encode(JSON.stringify(await countValues(deps, input)))
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

const countValues = async (deps: FileDeps, {source, column, field}: ValuesInput) => {
  const until = Date.now() + longestMs
  const readings = readingsOf(evidenceOf(source).columns, Choices.parse(source.choices))
  const {columns, rows} = await openFile(deps, {...source, readings}, {bad: openBadBytes()})
  const at = columns.indexOf(column)
  if (at < 0) {
    await rows.return()
    throw new Refusal('COLUMN_NOT_FOUND', `The file has no column "${column}" after cleaning. Read the source to see its columns`)
  }
  const values = openValueCount(field)
  let [read, isComplete] = [0, true]
  for await (const chunk of rows) {
    for (const {cells, ragged, struck} of chunk) if (!ragged && struck === undefined) values.add(cells[at] ?? '')
    read += chunk.length
    if (Date.now() < until) continue
    isComplete = false
    break
  }
  return {column, ...values.list(), rows: read, complete: isComplete}
}

const openValueCount = (field: FieldShape | null) => {
  const known = new Map<string, {value: string; count: number}>()
  let estimate: Estimate | null = null
  let cells = 0
  const add = (cell: string) => {
    const values = valuesIn(cell, field)
    if (values.length > 0) cells++
    const seen = new Set<string>()
    for (const value of values) {
      const key = fold(value)
      if (seen.has(key)) continue
      seen.add(key)
      const same = known.get(key)
      if (same) same.count++
      else {
        if (known.size < mostValues && value.length <= longestValue) known.set(copyOf(key), {value: copyOf(value.trim()), count: 1})
        else estimate ??= openEstimate([...known.keys()])
        estimate?.add(key)
      }
    }
  }
  const list = () => {
    const found = [...known.values()].sort((one, other) => other.count - one.count)
    const proposed = field
      ? suggestValues(
          found.map(({value}) => value),
          field,
        )
      : []
    const values = found.map(({value, count}, at): ColumnValue => {
      const option = field && isOption(value, field)
      return {value, count, option, suggestion: option ? null : (proposed[at] ?? null)}
    })
    return {values, distinct: estimate ? Math.max(known.size + 1, estimate.count()) : known.size, more: estimate !== null, cells}
  }
  return {add, list}
}

/** Returns a copy of a text, because a slice would keep the whole source text in memory. */
const copyOf = (text: string) => Buffer.from(text).toString()
