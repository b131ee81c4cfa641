import {useEffect, useState} from 'preact/hooks'
import type {Sample} from '../../sample.ts'
import {client, inOrg} from '../state/session.ts'
import type {TestedExpression} from './tried.ts'

export type ExpressionTest = {tested: TestedExpression | null; error: unknown; isBusy: boolean}

const quietMs = 400
type ExpressionTestInput = {
  expression: string
  source?: string | null
  sample: Sample
  target?: {connectorId: string; module: string; field: string} | undefined
}

/** Tests an expression on sample rows, after a pause in typing. A new test aborts the previous one. */
export const useExpressionTest = ({expression, source, sample, target}: ExpressionTestInput): ExpressionTest => {
  const [trying, setTrying] = useState<ExpressionTest>({tested: null, error: null, isBusy: false})
  useEffect(() => {
    if (!expression.trim() || sample.rows.length === 0) return setTrying({tested: null, error: null, isBusy: false})
    const gone = new AbortController()
    const body = {expression, ...sample, ...(source && sample.columns.includes(source) && {source}), ...target}
    const timer = setTimeout(() => {
      setTrying(({tested}) => ({tested, error: null, isBusy: true}))
      client.call('POST', inOrg('/expressions/test'), {body, signal: gone.signal}).then(
        ({body: tested}) => gone.signal.aborted || setTrying({tested, error: null, isBusy: false}),
        error => gone.signal.aborted || setTrying({tested: null, error, isBusy: false}),
      )
    }, quietMs)
    return () => {
      clearTimeout(timer)
      gone.abort()
    }
  }, [expression, source, sample, target?.module, target?.field])
  return trying
}
