import {type Library, readLibrary} from '../../shared/expressions/library.ts'
import {parseExpression} from '../../shared/expressions/parse.ts'
import type {ExpressionSource} from '../../shared/expressions/sandbox.ts'
import type {Flow} from '../../shared/flows/flow.ts'
import {namespacesOf} from '../../shared/flows/libraries.ts'
import type {Snapshot} from '../../shared/flows/snapshot.ts'

/** A flow's expressions made ready to run over rows. */
export type Program = {
  expressions: Record<string, ExpressionSource>
  /** What of a row they read. */
  columns: {name: string; at: number}[]
  libraries: Library[]
  context: Snapshot['context']
  clock: number
  seed: string
}

/** How the expressions are called where one is to blame. No field's API name has a blank. */
export const FILTER = 'the filter'
export const GUARD = 'the guard'
export const searchName = (field: string) => `search of ${field}`

type Frozen = Partial<Pick<Snapshot, 'libraries' | 'context' | 'lineage'>>

/** Null for a flow without expressions. */
export const layProgram = (flow: Flow, columns: string[], {libraries = [], context = {}, lineage}: Frozen): Program | null => {
  const expressions = listExpressions(flow)
  if (Object.keys(expressions).length === 0) return null
  return {
    expressions,
    columns: readBy(expressions, columns, libraries),
    libraries: libraries.map(readLibrary),
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

/** All columns where an expression may read any. */
const readBy = (expressions: Program['expressions'], columns: string[], libraries: Snapshot['libraries']) => {
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
