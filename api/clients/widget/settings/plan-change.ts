import {useState} from 'preact/hooks'
import {ApiError, type Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {Select} from '../ui/field.ts'
import {at, money, onDay} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {describeLimits} from './plan-limits.ts'

type WantedPlan = {planKey: string; interval: string}

const intervals = [
  {value: 'month', label: 'Monthly'},
  {value: 'year', label: 'Yearly'},
]

/** Changes the plan. Without a paid plan it opens the checkout of the payment provider. With one it shows a preview of the change and its exact cost. */
export const ChangePlan = ({summary, again}: {summary: Json; again: () => void}) => {
  const [interval, setInterval] = useState<string>(summary.interval ?? 'month')
  const [previewed, setPreviewed] = useState<{wanted: WantedPlan; preview: Json} | null>(null)
  const isPaying = summary.subscription !== null
  const begin = useDoing(async (planKey: string) => {
    const wanted = {planKey, interval}
    if (isPaying) return setPreviewed({wanted, preview: await client.post(inOrg('/billing/plan/preview'), wanted)})
    const {url} = await client.post(inOrg('/billing/checkout'), {
      kind: 'plan',
      ...wanted,
      successUrl: location.href,
      cancelUrl: location.href,
    })
    location.assign(url)
  })
  const offered = isPaying ? [...summary.plans, {key: 'free', name: 'Free', intervals: ['month', 'year'], limits: null}] : summary.plans
  return html`
    <section class="sheet" aria-labelledby="plan-change">
      <h2 id="plan-change">${isPaying ? 'Change plan' : 'Choose a plan'}</h2>
      <${Select} label="Billing interval" value=${interval} options=${intervals} onChange=${setInterval} />
      <ul class="plain">
        ${offered.map((plan: Json) => html`<${Offer} key=${plan.key} plan=${plan} interval=${interval} isHere=${isPaying && plan.key === summary.plan.key && interval === summary.interval} isBusy=${begin.isBusy} choose=${() => begin.run(plan.key)} />`)}
      </ul>
      <${Problem} error=${begin.error} />
      ${summary.pendingChange && html`<${TakeBack} again=${again} />`}
      ${previewed && html`<${Preview} ...${previewed} again=${again} onClose=${() => setPreviewed(null)} />`}
    </section>
  `
}

type OfferProps = {plan: Json; interval: string; isHere: boolean; isBusy: boolean; choose: () => void}

const Offer = ({plan, interval, isHere, isBusy, choose}: OfferProps) => html`
  <li class="row settings-offer">
    <div class="grow"><strong>${plan.name}</strong>${priceOf(plan, interval)}${plan.limits ? html`<br /><span class="quiet">${describeLimits(plan)}</span>` : html`<br /><span class="quiet">Your paid plan ends with this period</span>`}</div>
    ${isHere ? html`<span class="quiet">Current plan</span>` : html`<${Button} isBusy=${isBusy} onClick=${choose}>Choose<span class="unseen"> ${plan.name}</span><//>`}
  </li>
`

/** Returns a note on tax, or an empty text if the tax behaviour is not known. */
export const taxNote = (behavior: string | null): string =>
  behavior === null ? '' : behavior === 'inclusive' ? ', tax included' : ', plus tax'

/** Formats the price, or returns an empty text if it is not known. The checkout page shows it in any case. */
const priceOf = ({prices}: Json, interval: string): string => {
  const amount = prices?.[interval] ?? null
  return amount === null ? '' : ` · ${money(amount, prices.currency)} per ${interval}${taxNote(prices.taxBehavior)}`
}

type PreviewProps = {wanted: WantedPlan; preview: Json; again: () => void; onClose: () => void}

const Preview = ({wanted, preview, again, onClose}: PreviewProps) => {
  const doing = useDoing(async () => {
    const {change, effectiveAt} = await client.post(inOrg('/billing/plan'), {...wanted, previewToken: preview.previewToken})
    say(change === 'now' ? 'Plan changed' : `The plan changes on ${onDay(effectiveAt)}`)
    onClose()
    again()
  })
  const {due, tax, next, lines = []} = preview
  const actions = html`
    <${Button} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" isBusy=${doing.isBusy} onClick=${() => doing.run()}>${preview.change !== 'now' ? 'Change at renewal' : due.amount > 0 ? 'Change and pay now' : 'Change plan'}<//>
  `
  return html`
    <${Dialog} title="Review the plan change" onClose=${onClose} actions=${actions}>
      <p>${preview.change === 'now' && Date.parse(preview.effectiveAt) <= Date.now() ? 'It takes effect at once.' : `It takes effect on ${at(preview.effectiveAt)}. Nothing is charged now.`}</p>
      ${preview.replaces && html`<${Notice}>It replaces the pending change.<//>`}
      ${lines.length > 0 && html`<ul>${lines.map((line: Json) => html`<li>${line.description}: ${money(line.amount, due.currency)}${line.tax !== 0 && html` <span class="quiet">${line.taxIncluded ? 'incl.' : 'plus'} ${money(line.tax, due.currency)} tax</span>`}</li>`)}</ul>`}
      <p><strong>Due now: ${money(due.amount, due.currency)}</strong>${tax.amount !== 0 && `, of which ${money(tax.amount, tax.currency)} tax`}</p>
      ${next && html`<p>Next charge: ${money(next.amount, next.currency)} on ${onDay(next.at)}, before discounts and tax.</p>`}
      <${Confirm} error=${doing.error} />
    <//>
  `
}

/** Shows the error of a payment. If the bank requires a confirmation, it links to the provider's page. */
const Confirm = ({error}: {error: unknown}) => {
  const confirmation = error instanceof ApiError ? error.body?.confirmation : null
  if (!confirmation) return html`<${Problem} error=${error} />`
  return html`
    <${Notice} kind="warning" title="Your bank requires confirmation">
      <p>Until you confirm it, nothing is charged and your plan does not change. The link expires on ${at(confirmation.expiresAt)}.</p>
      <p><a href=${confirmation.url} target="_blank" rel="noopener">Confirm the payment</a></p>
    <//>
  `
}

const TakeBack = ({again}: {again: () => void}) => {
  const doing = useDoing(async () => {
    await client.delete(inOrg('/billing/plan/pending'))
    say('Pending change cancelled')
    again()
  })
  return html`<${Button} isBusy=${doing.isBusy} onClick=${() => doing.run()}>Cancel pending change<//><${Problem} error=${doing.error} />`
}
