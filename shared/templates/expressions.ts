import type {Namespaces} from '../expressions/parse.ts'
import {expressionIssues} from '../flows/expression-issues.ts'
import type {Flow, Issue} from '../flows/flow.ts'

type Known = {sources: {id: string; columns: string[]}[]; libraries: Namespaces}

/** What is wrong with the expressions of flows, whatever they are written to. */
export const findExpressionIssues = (flows: Flow[], {sources, libraries}: Known): Issue[] =>
  flows.flatMap((flow, at) => {
    const place = {columns: sources.find(({id}) => id === flow.sourceId)!.columns, libraries}
    return expressionsOf(flow).flatMap(({source, path, hasValue}) =>
      expressionIssues(source, path as string[], {...place, hasValue}).map(found => ({...found, path: [at, ...path]})),
    )
  })

type Place = {source: string | null | undefined; path: (string | number)[]; hasValue: boolean}

const expressionsOf = ({filter, guard, fields}: Flow): (Place & {source: string})[] =>
  [
    {source: filter, path: ['filter'], hasValue: false},
    {source: guard, path: ['guard'], hasValue: false},
    ...fields.flatMap(({mode, source: column, transform, searchExpression}, at): Place[] => {
      if (mode === 'static' || mode === 'skip') return []
      const name = mode === 'search' ? 'searchExpression' : 'transform'
      return [{source: mode === 'search' ? searchExpression : transform, path: ['fields', at, name], hasValue: column != null}]
    }),
  ].filter((place): place is Place & {source: string} => Boolean(place.source))
