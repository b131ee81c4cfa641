import {html} from '../html.ts'
import type {Change} from '../state/rights.ts'
import {type Role, whyNot} from '../state/session.ts'

/** In place of what a staff view is not offered: the reason. Nothing for everybody else. */
export const Closed = ({role, change}: {role: Role; change: Change}) => {
  const reason = whyNot(role, change)
  return reason && html`<p class="quiet">${reason}</p>`
}
