import type {Namespaces} from '../../expressions/parse.ts'
import {expressionIssues} from '../flows/expression-issues.ts'
import type {Flow, Issue} from '../flows/flow.ts'

type KnownLibraries = {sources: {id: string; columns: string[]}[]; libraries: Namespaces}

/** Does not check the fields that the expressions fill. */
export const findExpressionIssues = (flows: Flow[], {sources, libraries}: KnownLibraries): Issue[] =>
  flows.flatMap((flow, at) => {
    const place = {columns: sources.find(({id}) => id === flow.sourceId)!.columns, libraries}
    return expressionsOf(flow).flatMap(({source, path, hasValue}) =>
      expressionIssues(source, path as string[], {...place, hasValue}).map(found => ({...found, path: [at, ...path]})),
    )
  })

type ExpressionPlace = {source: string | null | undefined; path: (string | number)[]; hasValue: boolean}

const expressionsOf = ({filter, guard, fields}: Flow): (ExpressionPlace & {source: string})[] =>
  [
    {source: filter, path: ['filter'], hasValue: false},
    {source: guard, path: ['guard'], hasValue: false},
    ...fields.flatMap(({mode, source: column, transform, searchExpression}, at): ExpressionPlace[] => {
      if (mode === 'static' || mode === 'skip') return []
      const name = mode === 'search' ? 'searchExpression' : 'transform'
      return [{source: mode === 'search' ? searchExpression : transform, path: ['fields', at, name], hasValue: column != null}]
    }),
  ].filter((place): place is ExpressionPlace & {source: string} => Boolean(place.source))
