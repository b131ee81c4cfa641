import {type Library, readLibrary} from '../../../shared/expressions/library.ts'
import {parseExpression} from '../../../shared/expressions/parse.ts'
import type {ExpressionSource} from '../../../shared/expressions/sandbox.ts'
import type {Flow} from '../../../shared/mapping/flows/flow.ts'
import {namespacesOf} from '../../../shared/mapping/flows/libraries.ts'
import type {Snapshot} from '../../../shared/mapping/flows/snapshot.ts'

export type FlowProgram = {
  expressions: Record<string, ExpressionSource>
  columns: {name: string; at: number}[]
  libraries: Library[]
  context: Snapshot['context']
  clock: number
  seed: string
}

/** The name of the filter in error messages. It contains a blank, so that no field's API name equals it. */
export const FILTER = 'the filter'
/** The name of the guard in error messages. It contains a blank, so that no field's API name equals it. */
export const GUARD = 'the guard'
export const searchName = (field: string) => `search of ${field}`

type CompileProgramInput = Partial<Pick<Snapshot, 'libraries' | 'context' | 'lineage'>>

export const compileProgram = (
  flow: Flow,
  columns: string[],
  {libraries = [], context = {}, lineage}: CompileProgramInput,
): FlowProgram | null => {
  const expressions = listExpressions(flow)
  if (Object.keys(expressions).length === 0) return null
  return {
    expressions,
    columns: readBy(expressions, columns, libraries),
    libraries: libraries.map(library => readLibrary(library)),
    context,
    clock: lineage?.clock ?? 0,
    seed: lineage?.seed ?? '',
  }
}

const listExpressions = ({filter, guard, fields}: Flow): Record<string, ExpressionSource> => {
  const listed: [string, string | null | undefined, string | null | undefined][] = [
    [FILTER, filter, null],
    [GUARD, guard, null],
    ...fields.map(({field, mode, transform, searchExpression, source}): (typeof listed)[number] =>
      mode === 'search'
        ? [searchName(field), searchExpression, source]
        : [field, mode === 'column' || mode === 'expression' ? transform : null, source],
    ),
  ]
  return Object.fromEntries(listed.flatMap(([name, source, value]) => (source ? [[name, value == null ? source : {source, value}]] : [])))
}

/** Returns the columns that the expressions read. Returns all columns if an expression can read any column. */
const readBy = (expressions: FlowProgram['expressions'], columns: string[], libraries: Snapshot['libraries']) => {
  const read = new Set<string>()
  for (const given of Object.values(expressions)) {
    const {source, value} = typeof given === 'string' ? {source: given, value: null} : given
    const result = parseExpression(source, {namespaces: namespacesOf(libraries)})
    const fields = result.ok ? result.parsed.fields : []
    for (const name of fields ?? columns) read.add(name)
    if (value !== null) read.add(value)
  }
  return [...read].flatMap(name => (columns.includes(name) ? [{name, at: columns.indexOf(name)}] : []))
}
