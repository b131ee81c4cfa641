import {useEffect} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {untilDone} from '../state/jobs.ts'
import {useDoing, useLoad, useRemoved} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/undo.ts'
import {Button} from '../ui/button.ts'
import {at, count, duration} from '../ui/format.ts'
import {Notice} from '../ui/notice.ts'

type ForecastProps = {id: string; version: number; preview: string | null; isBusy: boolean}

/**
 * Shows what a run would cost at the CRM. For operators, a forecast that is missing or due is created as soon as no check and no dry run of the
 * import is active. A forecast that is due is not shown, because the CRM quota may have changed.
 */
export const RunForecast = ({id, version, preview, isBusy}: ForecastProps) => {
  const path = inOrg(`/imports/${id}/forecast`)
  const last = useLoad<Json>(signal => client.get(path, {}, signal), [id, version, preview])
  const removed = useRemoved()
  const making = useDoing(async () => {
    const {job} = await client.post(path, {})
    await untilDone(job.id, {signal: removed})
    last.again()
  })
  const {forecast = null, stale = null, due = stale !== false} = last.data ?? {}
  const isDue = may('operator') && !isBusy && last.data !== undefined && !last.isLoading && due
  useEffect(() => {
    if (isDue) making.run()
  }, [isDue, version, preview])
  if (making.isBusy) return html`<p class="quiet" role="status">${t.forecastingTheCost}</p>`
  if (making.error && may('operator'))
    return html`<p class="quiet">${t.couldNotForecast} <${Button} onClick=${() => making.run()}>${t.forecastAgain}<//></p>`
  if (!forecast || due) return null
  return html`
    <p class="quiet" role="status">${describeCost(forecast)}</p>
    ${forecast.pausesAtRow !== null && html`<${Notice} title=${t.quotaMayNotSuffice}>${describePause(forecast)}<//>`}
  `
}

const describeCost = ({credits, seconds, quota}: Json): string => {
  const time = t.about(duration(Math.max(1, seconds.p50) * 1000))
  if (!quota) return time
  const cost = credits.min === credits.max ? t.crmCredits(credits.max) : t.crmCreditsBetween(count(credits.min), count(credits.max))
  return `${time} · ${cost}${quota.remaining === null ? '' : t.ofLeftToday(count(quota.remaining))}`
}

const describePause = ({pausesAtRow, finishesAt}: Json): string =>
  t.mayPauseAt(count(pausesAtRow)) + (finishesAt ? t.wouldEndAbout(at(finishesAt)) : '')
