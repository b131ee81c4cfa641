import {html} from '../html.ts'
import {t} from '../text/decide.ts'
import {count} from '../ui/format.ts'
import type {ExpectedRows} from './expected-rows.ts'

/** `asks`: how many of the skipped rows wait for an answer. */
type SumProps = {rows: number; expected: ExpectedRows | null; asks: number; isBusy: boolean}

/** Shows the result in one line: "129 ready · 121 need attention". */
export const ReviewSum = ({rows, expected, asks, isBusy}: SumProps) => {
  if (!expected) return html`<div role="status"><h2 id="review-sum">${isBusy ? t.checkingRows(rows) : t.rowsNotChecked(rows)}</h2></div>`
  const {ready, attention, skipped, isExact} = expected
  return html`
    <div role="status"><h2 id="review-sum">
      ${(isExact ? t.readyCount : t.readyAtMost)(count(ready))}
      ${attention > 0 && html` · <span class="attention">${(isExact ? t.attentionCount : t.attentionAtLeast)(attention)}</span>`}
      ${asks > 0 && html` · <span class="attention">${t.asksCount(asks)}</span>`}
      ${skipped > asks && html` · <span class="quiet">${t.skippedCount(count(skipped - asks))}</span>`}
    </h2></div>
  `
}
