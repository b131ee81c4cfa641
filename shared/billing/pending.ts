import {refuseFailure} from './payment-failure.ts'
import {answerOf, makeChange, type Tools, whileSettled} from './plan-change.ts'
import type {Answer} from './plan-change-answer.ts'
import {readTerms} from './plan-change-terms.ts'
import {assertMayBuy} from './plan-change-wanted.ts'
import {readSecond, withinPeriod} from './preview.ts'

/** The subscription goes on as it is. Where nothing waits that is so already. */
export const takeBackPending = (tools: Tools, asking: Asking): Promise<Answer> =>
  takeBack(tools, asking).catch(refuseFailure(tools.log, 'what waits was not taken back'))

type Asking = {org: string; person: string}

const takeBack = async (tools: Tools, {org, person}: Asking): Promise<Answer> => {
  await assertMayBuy(tools, org)
  return whileSettled(tools, org, async (held, earlier) => {
    const terms = await readTerms(tools, org)
    const {plan, read, item} = terms
    const target = {planKey: plan?.key ?? 'unknown', planVersionId: read.planVersionId, interval: read.interval, price: item.price.id}
    const second = withinPeriod(terms, await readSecond(tools.db))
    const made = await makeChange(tools, held, {org, person, kind: 'take_back', target, terms, second, earlier})
    return answerOf(tools, made, terms)
  })
}
