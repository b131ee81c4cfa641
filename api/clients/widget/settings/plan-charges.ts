import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/plan.ts'
import {Button} from '../ui/button.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Check, Select, TextField} from '../ui/field.ts'
import {count, money} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {returnUrls} from './plan-change.ts'
import {taxNote} from './plan-prices.ts'

export const Charges = ({summary, isWaiting, again}: {summary: Json; isWaiting: boolean; again: () => void}) => html`
  <${Packs} packs=${summary.packs.filter(({purchasable}: Json) => purchasable)} purchased=${summary.balance.purchased} isWaiting=${isWaiting} />
  <${Topup} key=${JSON.stringify(summary.autotopup)} summary=${summary} again=${again} />
  ${(summary.overage.available || summary.overage.enabled) && html`<${Overage} isOn=${summary.overage.enabled} again=${again} />`}
`

type PacksProps = {packs: Json[]; purchased: number; isWaiting: boolean}

const Packs = ({packs, purchased, isWaiting}: PacksProps) => {
  const buy = useDoing(async (packKey: string) => {
    const asked = {kind: 'credit_pack', packKey, ...returnUrls({kind: 'pack', purchased})}
    const {url} = await client.post(inOrg('/billing/checkout'), asked)
    location.assign(url)
  })
  if (packs.length === 0) return null
  return html`
    <section class="sheet" aria-labelledby="plan-packs">
      <h2 id="plan-packs">${t.aiCredits}</h2>
      <ul class="plain">
        ${packs.map(({key, name, price}) => html`<li key=${key} class="row settings-offer"><span class="grow">${namePack({name, price})}</span><${Button} isBusy=${buy.isBusy} disabled=${isWaiting} onClick=${() => buy.run(key)}>${t.buy}<span class="unseen"> ${name}</span><//></li>`)}
      </ul>
      <${Problem} error=${buy.error} />
    </section>
  `
}

const namePack = ({name, price}: Pick<Json, 'name' | 'price'>): string =>
  price ? `${name}, ${money(price.amount, price.currency)}${taxNote(price.taxBehavior)}` : name

const Topup = ({summary, again}: {summary: Json; again: () => void}) => {
  const {autotopup, packs} = summary
  const form = useDraft({
    enabled: autotopup.enabled as boolean,
    packKey: autotopup.packKey ?? packs.find(({purchasable}: Json) => purchasable)?.key ?? '',
    threshold: String(autotopup.threshold ?? 100),
    monthlyCap: String(autotopup.monthlyCap ?? 5000),
  })
  const {draft, set} = form
  const save = useDoing(async () => {
    await client.post('/billing/autotopup', {...draft, threshold: Number(draft.threshold), monthlyCap: Number(draft.monthlyCap)})
    form.keepSaved(draft)
    say(t.automaticTopUpSaved)
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  return html`
    <form class="sheet settings-form" aria-labelledby="plan-topup" onSubmit=${submit}>
      <h2 id="plan-topup">${t.automaticTopUp}</h2>
      ${autotopup.stopped && html`<${Notice} kind="warning" title=${t.automaticTopUpWasTurnedOff}>${autotopup.stopped.message}<//>`}
      <${Check} label=${t.buyACreditPackWhenCreditsRun} checked=${draft.enabled} onChange=${(enabled: boolean) => set({enabled})} />
      <${Select} label=${t.creditPack} value=${draft.packKey} options=${packs.map((pack: Json) => ({value: pack.key, label: namePack(pack)}))} onChange=${(packKey: string) => set({packKey})} />
      <${TextField} label=${t.buyWhenTheBalanceFallsBelow} type="number" min="1" required value=${draft.threshold} onInput=${(threshold: string) => set({threshold})} />
      <${TextField} label=${t.maximumCreditsPerMonth} type="number" min="1" required value=${draft.monthlyCap} onInput=${(monthlyCap: string) => set({monthlyCap})} />
      <p class="hint">${t.boughtThisMonthCredits(count(autotopup.month.used))}</p>
      <${Problem} error=${save.error} />
      <${SaveActions} of=${form} isBusy=${save.isBusy} />
    </form>
  `
}

const Overage = ({isOn, again}: {isOn: boolean; again: () => void}) => {
  const change = useDoing(async (enabled: boolean) => {
    await client.post('/billing/overage', {enabled})
    say(enabled ? t.overageEnabled : t.overageDisabled)
    again()
  })
  return html`
    <section class="sheet" aria-labelledby="plan-overage">
      <h2 id="plan-overage">${t.rowsBeyondThePlan}</h2>
      <${Check}
        label=${t.importRowsBeyondThePlanAndPay}
        hint=${t.additionalRowsAreOnTheNextInvoice}
        checked=${isOn}
        onChange=${(enabled: boolean) => change.run(enabled)}
      />
      <${Problem} error=${change.error} />
    </section>
  `
}
