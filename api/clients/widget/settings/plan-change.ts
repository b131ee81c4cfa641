import {useState} from 'preact/hooks'
import {ApiError, type Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/plan.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {Select} from '../ui/field.ts'
import {at, money, onDay} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {type AwaitedChange, paidPlanOf, queryOf} from './awaited-change.ts'
import {describeLimits} from './plan-limits.ts'
import {describeOffer} from './plan-prices.ts'

type WantedPlan = {planKey: string; interval: string}
type ChangeProps = {summary: Json; isWaiting: boolean; onChange: (awaited: AwaitedChange) => void}

const intervals = [
  {value: 'month', label: t.monthly},
  {value: 'year', label: t.yearly},
]

/**
 * Without a paid plan, choosing a plan opens the checkout of the payment provider. With a paid plan, it shows a preview of the change and its exact
 * cost.
 */
export const ChangePlan = ({summary, isWaiting, onChange}: ChangeProps) => {
  const [interval, setInterval] = useState<string>(summary.interval ?? 'month')
  const [previewed, setPreviewed] = useState<{wanted: WantedPlan; preview: Json} | null>(null)
  const isPaying = summary.subscription !== null
  const begin = useDoing(async (planKey: string) => {
    const wanted = {planKey, interval}
    if (isPaying) return setPreviewed({wanted, preview: await client.post(inOrg('/billing/plan/preview'), wanted)})
    const {url} = await client.post(inOrg('/billing/checkout'), {
      kind: 'plan',
      ...wanted,
      ...returnUrls({kind: 'plan', ...wanted}),
    })
    location.assign(url)
  })
  const offered = isPaying ? [...summary.plans, {key: 'free', name: t.free, intervals: ['month', 'year'], limits: null}] : summary.plans
  return html`
    <section class="sheet" aria-labelledby="plan-change">
      <h2 id="plan-change">${isPaying ? t.changePlan : t.chooseAPlan}</h2>
      <${Select} label=${t.billingInterval} value=${interval} options=${intervals} onChange=${setInterval} />
      <ul class="plain">
        ${offered.map((plan: Json) => {
          const isCurrent = isPaying && plan.key === paidPlanOf(summary)
          const isHere = isCurrent && interval === summary.interval
          // The org may pay for an earlier version of the plan than the one for sale.
          const shown = (isHere && summary.subscription.plan) || plan
          return html`<${Offer} key=${plan.key} plan=${shown} interval=${interval} isCurrent=${isCurrent} isHere=${isHere} isBusy=${begin.isBusy} isWaiting=${isWaiting} choose=${() => begin.run(plan.key)} />`
        })}
      </ul>
      <${Problem} error=${begin.error} />
      ${summary.pendingChange && !isWaiting && html`<${TakeBack} onChange=${onChange} />`}
      ${previewed && html`<${Preview} ...${previewed} onChange=${onChange} onClose=${() => setPreviewed(null)} />`}
    </section>
  `
}

/** Returns the URLs to which the payment provider sends the person after a payment and after a cancelled payment. */
export const returnUrls = (awaited: Parameters<typeof queryOf>[0]) => {
  const page = `${location.origin}${location.pathname}`
  return {successUrl: page + to('settings', 'plan', queryOf(awaited)), cancelUrl: page + to('settings', 'plan')}
}

/** `isCurrent`: whether the org pays for this plan. `isHere`: whether the org pays for this plan in the selected interval. */
type OfferProps = {
  plan: Json
  interval: string
  isCurrent: boolean
  isHere: boolean
  isBusy: boolean
  isWaiting: boolean
  choose: () => void
}

const Offer = ({plan, interval, isCurrent, isHere, isBusy, isWaiting, choose}: OfferProps) => {
  const {price, note, isOffered} = describeOffer({prices: null, ...plan}, interval)
  return html`
    <li class="row settings-offer">
      <div class="grow">
        <strong>${plan.name}</strong>${isCurrent && !isHere && html` <${Pill} tone="info">${t.currentPlan}<//>`}${price && ` · ${price}`}${note && html`<br />${note}`}
        <br /><span class="quiet">${plan.limits ? describeLimits(plan) : t.yourPaidPlanEndsWithThisPeriod}</span>
      </div>
      ${isHere ? html`<${Pill} tone="info">${t.currentPlan}<//>` : isOffered && html`<${Button} isBusy=${isBusy} disabled=${isWaiting} onClick=${choose}>${isCurrent ? t.payBy[interval as 'month' | 'year'] : t.choose}<span class="unseen"> ${isCurrent ? t.forPlan(plan.name) : plan.name}</span><//>`}
    </li>
  `
}

type PreviewProps = {wanted: WantedPlan; preview: Json; onChange: ChangeProps['onChange']; onClose: () => void}

const Preview = ({wanted, preview, onChange, onClose}: PreviewProps) => {
  const doing = useDoing(async () => {
    const {change} = await client.post(inOrg('/billing/plan'), {...wanted, previewToken: preview.previewToken})
    onClose()
    onChange(change === 'now' ? {kind: 'plan', ...wanted} : {kind: 'scheduled', planKey: wanted.planKey})
  })
  const {due, tax, next, lines = []} = preview
  const actions = html`
    <${Button} onClick=${onClose}>${t.cancel}<//>
    <${Button} kind="main" isBusy=${doing.isBusy} onClick=${() => doing.run()}>${preview.change !== 'now' ? t.changeAtRenewal : due.amount > 0 ? t.changeAndPayNow : t.changePlan}<//>
  `
  return html`
    <${Dialog} title=${t.reviewThePlanChange} onClose=${onClose} actions=${actions}>
      <p>${preview.change === 'now' && Date.parse(preview.effectiveAt) <= Date.now() ? t.itTakesEffectAtOnce : t.itTakesEffectOnNothingIsCharged(at(preview.effectiveAt))}</p>
      ${preview.replaces && html`<${Notice}>${t.itReplacesThePendingChange}<//>`}
      ${lines.length > 0 && html`<ul>${lines.map((line: Json) => html`<li>${line.description}: ${money(line.amount, due.currency)}${line.tax !== 0 && html` <span class="quiet">${(line.taxIncluded ? t.includedTax : t.addedTax)(money(line.tax, due.currency))}</span>`}</li>`)}</ul>`}
      <p><strong>${t.dueNow(money(due.amount, due.currency))}</strong>${tax.amount !== 0 && t.ofWhichTax(money(tax.amount, tax.currency))}</p>
      ${next && html`<p>${t.nextChargeOnBeforeDiscountsAndTax(money(next.amount, next.currency), onDay(next.at))}</p>`}
      <${Confirm} error=${doing.error} />
    <//>
  `
}

/** Shows the error of a payment. If the bank requires a confirmation, the notice links to the provider's page. */
const Confirm = ({error}: {error: unknown}) => {
  const confirmation = error instanceof ApiError ? error.body?.confirmation : null
  if (!confirmation) return html`<${Problem} error=${error} />`
  return html`
    <${Notice} kind="warning" title=${t.yourBankRequiresConfirmation}>
      <p>${t.untilYouConfirmItNothingIsCharged(at(confirmation.expiresAt))}</p>
      <p><a href=${confirmation.url} target="_blank" rel="noopener">${t.confirmThePayment}</a></p>
    <//>
  `
}

const TakeBack = ({onChange}: Pick<ChangeProps, 'onChange'>) => {
  const doing = useDoing(async () => {
    await client.delete(inOrg('/billing/plan/pending'))
    onChange({kind: 'withdrawn'})
  })
  return html`<${Button} isBusy=${doing.isBusy} onClick=${() => doing.run()}>${t.cancelScheduledChange}<//><${Problem} error=${doing.error} />`
}
