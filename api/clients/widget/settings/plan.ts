import {useEffect, useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {place, setQuery} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/plan.ts'
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

export const Plan = () => {
  const loaded = useLoad<Json>(async signal => {
    const [summary, usage] = await Promise.all([client.get('/billing/summary', {}, signal), client.get('/entitlements/usage', {}, signal)])
    return {summary, usage}
  }, [])
  const waiting = useAwaitedChange(loaded.again)
  return html`
    <${SettingsFrame} title=${t.planUsage} lead=${t.theLimitsOfYourPlanAndYour}>
      <${WaitingNotice} waiting=${waiting} />
      <${Shown} of=${loaded}>${({summary, usage}: Json) => html`<${Standing} summary=${summary} usage=${usage} waiting=${waiting} again=${loaded.again} />`}<//>
    <//>
  `
}

type Waiting = {awaited: AwaitedChange | null; isLate: boolean; start(awaited: AwaitedChange): void}

/**
 * Polls the billing summary until it shows a paid or saved change. If that takes longer than a minute, polling ends and `isLate` is true.
 * After a payment, the URL contains the change.
 */
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
  plan: t.yourPlanIsActive,
  scheduled: t.theChangeIsScheduled,
  withdrawn: t.scheduledChangeCancelled,
  pack: t.aiCreditsAdded,
}
const waitingWords = {
  plan: t.paymentReceivedActivatingYourPlan,
  scheduled: t.schedulingTheChange,
  withdrawn: t.cancellingTheScheduledChange,
  pack: t.paymentReceivedAddingTheAiCredits,
}

const WaitingNotice = ({waiting: {awaited, isLate, start}}: {waiting: Waiting}) => {
  if (!awaited) return null
  if (!isLate)
    return html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span> ${waitingWords[awaited.kind]}</p>`
  return html`
    <${Notice} kind="warning" title=${t.thisTakesLongerThanUsual} actions=${html`<${Button} onClick=${() => start({...awaited})}>${t.checkAgain}<//>`}>
      ${t.doNotPayAgainTheChangeAppears}
    <//>
  `
}

type StandingProps = {summary: Json; usage: Json; waiting: Waiting; again: () => void}

const Standing = ({summary, usage, waiting, again}: StandingProps) => html`
  <${Current} summary=${summary} again=${again} />
  <${Usage} usage=${usage} />
  ${isSold(summary) && may('admin', 'money') && html`<${ChangePlan} key=${summary.interval} summary=${summary} isWaiting=${waiting.awaited !== null} onChange=${waiting.start} /><${Charges} summary=${summary} isWaiting=${waiting.awaited !== null} again=${again} />`}
  ${isSold(summary) && html`<${Closed} role="admin" change="money" />`}
`

const Current = ({summary, again}: {summary: Json; again: () => void}) => {
  const trial = useDoing(async () => {
    await client.post(inOrg('/trial'))
    say(t.trialStarted)
    again()
  })
  const portal = useDoing(async () => {
    const {url} = await client.post('/billing/portal', {returnUrl: location.href})
    location.assign(url)
  })
  const {plan, status, period, pendingChange, cancelsAt} = summary
  return html`
    <section class="sheet" aria-labelledby="plan-now">
      <h2 id="plan-now">${plan.name} <${Pill} tone=${tones[status] ?? 'neutral'}>${t.statuses[status] ?? status.replace('_', ' ')}<//></h2>
      <p>${t.thisPeriodTo(describePayment(summary), onDay(period.start), onDay(period.end))}</p>
      ${isOnTrial(summary) && html`<p>${t.theTrialEndsNothingIsChargedFor(at(summary.trial.endsAt))}</p>`}
      ${mayStartTrial(summary) && html`<p>${t.tryTheLargerLimitsFor14Days}</p>`}
      <${Obstacles} ...${summary} />
      ${cancelsAt && html`<${Notice} kind="warning">${t.thePlanEndsOn(onDay(cancelsAt))}<//>`}
      ${pendingChange && html`<${Notice}>${t.thePlanChangesTo(summary.plans.find(({key}: Json) => key === pendingChange.planKey)?.name ?? pendingChange.planKey, onDay(pendingChange.at))}<//>`}
      <div class="actions">
        ${mayStartTrial(summary) && html`<${Button} isBusy=${trial.isBusy} onClick=${() => trial.run()}>${t.start14DayTrial}<//>`}
        ${summary.customer && may('admin', 'money') && html`<${Button} isBusy=${portal.isBusy} onClick=${() => portal.run()}>${t.invoicesAndCard}<//>`}
      </div>
      <${Problem} error=${trial.error ?? portal.error} />
    </section>
  `
}

/** Says why the org starts no runs, or soon will not, and what to do. Paying does not end a suspension by staff. */
const Obstacles = ({status, pastDue, sandbox}: Json) => html`
  ${pastDue && html`<${Notice} kind="warning" title=${t.aPaymentIsOverdue}>${sandbox ? t.openTheProductionOrgAndPay : t.openInvoicesAndCardThenPayThe} ${pastDue.graceEndsAt ? t.newRunsAreRefusedFromIfThe(at(pastDue.graceEndsAt)) : t.newRunsAreRefusedUntilTheInvoice}<//>`}
  ${status === 'suspended' && pastDue?.since !== null && html`<${Notice} kind="warning" title=${t.thisOrgIsSuspended}>${t.newRunsAreRefusedContactSupport}<//>`}
`

/** The API refuses purchases and trials of a sandbox (403 `SANDBOX_ORG`). */
const isSold = ({configured, sandbox}: Json) => configured && !sandbox
const mayStartTrial = ({plan, trial, sandbox}: Json) => plan.key === 'free' && !trial && !sandbox && may('owner')
const isOnTrial = ({status, subscription, sandbox}: Json) => status === 'trialing' && !subscription && !sandbox

const Usage = ({usage}: {usage: Json}) => {
  const {rows, modules, schedules, credits} = usage
  const given = credits.included + credits.purchased + credits.spent
  return html`
    <section class="sheet" aria-labelledby="plan-usage">
      <h2 id="plan-usage">${t.usage}</h2>
      <div class="columns">
        <${Meter} label=${t.rowsWritten} used=${rows.used} limit=${rows.limit} note=${rows.reserved > 0 ? t.reservedByRuns(count(rows.reserved)) : null} />
        <${Meter} label=${t.modulesLabel} used=${modules.used} limit=${modules.limit} />
        <${Meter} label=${t.schedulesLabel} used=${schedules.used} limit=${schedules.limit} />
        <${Meter} label=${t.aiCredits} used=${credits.spent} limit=${given} note=${t.left(count(credits.available))} />
      </div>
      ${
        credits.byFeature.length > 0 &&
        html`<${Table}
          caption=${t.aiCreditsByFeature}
          keyOf=${({feature}: Json) => feature}
          rows=${credits.byFeature}
          columns=${[
            {head: t.aiFeature, isName: true, cell: ({feature}: Json) => t.features[feature] ?? feature},
            {head: t.credits, isNumber: true, cell: ({spent, credits: used}: Json) => count(spent ?? used)},
          ]}
        />`
      }
    </section>
  `
}

const Meter = ({label, used, limit, note}: {label: string; used: number; limit: number; note?: Markup}) => html`
  <div>
    <strong>${label}</strong>
    <${Progress} label=${label} done=${used} total=${limit} text=${t.usedOf(count(used), count(limit))} />
    ${note && html`<p class="hint">${note}</p>`}
  </div>
`
