import {ApiError} from '../../http.ts'
import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {t} from '../text/schedules.ts'
import {adviceFor} from './frequency.ts'

export const FrequencyAdvice = ({code}: {code: string | null}) => {
  const advice = adviceFor(code)
  return advice && html`<p>${advice} <a href=${to('settings', 'plan')}>${t.planAndUsage}</a></p>`
}

export const codeOf = (error: unknown): string | null => (error instanceof ApiError ? error.code : null)
