import {useEffect, useState} from 'preact/hooks'
import {client, inOrg} from '../state/session.ts'
import type {Sample} from './sample.ts'
import type {Tested} from './tried.ts'

export type Trying = {tested: Tested | null; error: unknown; isBusy: boolean}

const quietMs = 400
type Asked = {
  expression: string
  source?: string | null
  sample: Sample
  target?: {connectorId: string; module: string; field: string} | undefined
}

/** What an expression gives on the sample rows, asked for when nobody has typed for a moment; what was asked before is then given up. */
export const useTried = ({expression, source, sample, target}: Asked): Trying => {
  const [trying, setTrying] = useState<Trying>({tested: null, error: null, isBusy: false})
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
