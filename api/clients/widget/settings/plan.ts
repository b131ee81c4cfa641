import {useEffect, useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {place, setQuery} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {at, count, onDay} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill, type Tone} from '../ui/pill.ts'
import {Progress} from '../ui/progress.ts'
import {Table} from '../ui/table.ts'
import {type AwaitedChange, awaitChange, readAwaited} from './awaited-change.ts'
import {SettingsFrame} from './frame.ts'
import {ChangePlan} from './plan-change.ts'
import {Charges} from './plan-charges.ts'
import {describePayment} from './plan-prices.ts'

const tones: Record<string, Tone> = {active: 'good', trialing: 'info', past_due: 'warning', suspended: 'bad'}

/** The plan of the org, its usage and billing. */
export const Plan = () => {
  const loaded = useLoad<Json>(async signal => {
    const [summary, usage] = await Promise.all([client.get('/billing/summary', {}, signal), client.get('/entitlements/usage', {}, signal)])
    return {summary, usage}
  }, [])
  const waiting = useAwaitedChange(loaded.again)
  return html`
    <${SettingsFrame} title="Plan & usage" lead="The limits of your plan and your usage in this period.">
      <${WaitingNotice} waiting=${waiting} />
      <${Shown} of=${loaded}>${({summary, usage}: Json) => html`<${Standing} summary=${summary} usage=${usage} waiting=${waiting} again=${loaded.again} />`}<//>
    <//>
  `
}

type Waiting = {awaited: AwaitedChange | null; isLate: boolean; start(awaited: AwaitedChange): void}

/** Follows a paid or saved change until the summary shows it. A change in the address was paid on the page of the provider. */
const useAwaitedChange = (again: () => void): Waiting => {
  const [awaited, setAwaited] = useState<AwaitedChange | null>(() => readAwaited(place.value.query))
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    if (awaited === null || isLate) return
    const gone = new AbortController()
    const read = () => client.get('/billing/summary', {}, gone.signal)
    const end = (isShown: boolean) => {
      again()
      if (!isShown) return setLate(true)
      setQuery({paid: undefined, plan: undefined, interval: undefined, purchased: undefined})
      setAwaited(null)
      say(appliedWords[awaited.kind])
    }
    awaitChange(awaited, {read, signal: gone.signal}).then(end, error => gone.signal.aborted || Promise.reject(error))
    return () => gone.abort()
  }, [awaited, isLate])
  const start = (next: AwaitedChange) => {
    setLate(false)
    setAwaited(next)
  }
  return {awaited, isLate, start}
}

const appliedWords = {
  plan: 'Your plan is active',
  scheduled: 'The change is scheduled',
  withdrawn: 'Scheduled change cancelled',
  pack: 'AI credits added',
}
const waitingWords = {
  plan: 'Payment received, activating your plan …',
  scheduled: 'Scheduling the change …',
  withdrawn: 'Cancelling the scheduled change …',
  pack: 'Payment received, adding the AI credits …',
}

const WaitingNotice = ({waiting: {awaited, isLate, start}}: {waiting: Waiting}) => {
  if (!awaited) return null
  if (!isLate)
    return html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span> ${waitingWords[awaited.kind]}</p>`
  return html`
    <${Notice} kind="warning" title="This takes longer than usual" actions=${html`<${Button} onClick=${() => start({...awaited})}>Check again<//>`}>
      Do not pay again. The change appears here when the payment provider confirms it.
    <//>
  `
}

type StandingProps = {summary: Json; usage: Json; waiting: Waiting; again: () => void}

const Standing = ({summary, usage, waiting, again}: StandingProps) => html`
  <${Current} summary=${summary} again=${again} />
  <${Usage} usage=${usage} />
  ${summary.configured && may('admin', 'money') && html`<${ChangePlan} key=${summary.interval} summary=${summary} isWaiting=${waiting.awaited !== null} onChange=${waiting.start} /><${Charges} summary=${summary} isWaiting=${waiting.awaited !== null} again=${again} />`}
  ${summary.configured && html`<${Closed} role="admin" change="money" />`}
`

const Current = ({summary, again}: {summary: Json; again: () => void}) => {
  const trial = useDoing(async () => {
    await client.post(inOrg('/trial'))
    say('Trial started')
    again()
  })
  const portal = useDoing(async () => {
    const {url} = await client.post('/billing/portal', {returnUrl: location.href})
    location.assign(url)
  })
  const {plan, status, period, pendingChange, cancelsAt, pastDue} = summary
  return html`
    <section class="sheet" aria-labelledby="plan-now">
      <h2 id="plan-now">${plan.name} <${Pill} tone=${tones[status] ?? 'neutral'}>${status.replace('_', ' ')}<//></h2>
      <p>${describePayment(summary)} This period: ${onDay(period.start)} to ${onDay(period.end)}.</p>
      ${isOnTrial(summary) && html`<p>The trial ends ${at(summary.trial.endsAt)}. Nothing is charged for it. Choose a plan before it ends to keep its limits.</p>`}
      ${mayStartTrial(summary) && html`<p>Try the larger limits for 14 days. You need no card, and the trial ends by itself.</p>`}
      ${pastDue && html`<${Notice} kind="warning" title="A payment is overdue">Open “Invoices and card”, then pay the invoice or update the card. ${pastDue.graceEndsAt ? `New runs are refused from ${at(pastDue.graceEndsAt)} if the invoice stays unpaid.` : 'New runs are refused until the invoice is paid.'}<//>`}
      ${cancelsAt && html`<${Notice} kind="warning">The plan ends on ${onDay(cancelsAt)}.<//>`}
      ${pendingChange && html`<${Notice}>The plan changes to ${summary.plans.find(({key}: Json) => key === pendingChange.planKey)?.name ?? pendingChange.planKey} on ${onDay(pendingChange.at)}.<//>`}
      <div class="actions">
        ${mayStartTrial(summary) && html`<${Button} isBusy=${trial.isBusy} onClick=${() => trial.run()}>Start 14-day trial<//>`}
        ${summary.customer && may('admin', 'money') && html`<${Button} isBusy=${portal.isBusy} onClick=${() => portal.run()}>Invoices and card<//>`}
      </div>
      <${Problem} error=${trial.error ?? portal.error} />
    </section>
  `
}

const mayStartTrial = ({plan, trial}: Json) => plan.key === 'free' && !trial && may('owner')
const isOnTrial = ({status, subscription}: Json) => status === 'trialing' && !subscription

const Usage = ({usage}: {usage: Json}) => {
  const {rows, modules, schedules, credits} = usage
  const given = credits.included + credits.purchased + credits.spent
  return html`
    <section class="sheet" aria-labelledby="plan-usage">
      <h2 id="plan-usage">Usage</h2>
      <div class="columns">
        <${Meter} label="Rows written" used=${rows.used} limit=${rows.limit} note=${rows.reserved > 0 ? `${count(rows.reserved)} reserved by runs` : null} />
        <${Meter} label="Modules" used=${modules.used} limit=${modules.limit} />
        <${Meter} label="Schedules" used=${schedules.used} limit=${schedules.limit} />
        <${Meter} label="AI credits" used=${credits.spent} limit=${given} note=${`${count(credits.available)} left`} />
      </div>
      ${
        credits.byFeature.length > 0 &&
        html`<${Table}
          caption="AI credits by feature"
          keyOf=${({feature}: Json) => feature}
          rows=${credits.byFeature}
          columns=${[
            {head: 'AI feature', isName: true, cell: ({feature}: Json) => feature},
            {head: 'Credits', isNumber: true, cell: ({spent, credits: used}: Json) => count(spent ?? used)},
          ]}
        />`
      }
    </section>
  `
}

const Meter = ({label, used, limit, note}: {label: string; used: number; limit: number; note?: Markup}) => html`
  <div>
    <strong>${label}</strong>
    <${Progress} label=${label} done=${used} total=${limit} text=${`${count(used)} of ${count(limit)}`} />
    ${note && html`<p class="hint">${note}</p>`}
  </div>
`
