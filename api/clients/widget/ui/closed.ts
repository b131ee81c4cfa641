import {html} from '../html.ts'
import type {Change} from '../state/rights.ts'
import {type Role, whyNot} from '../state/session.ts'

/** Explains why a staff view with write access may not make a change. Otherwise, it renders nothing. */
export const Closed = ({role, change}: {role: Role; change: Change}) => {
  const reason = whyNot(role, change)
  return reason && html`<p class="quiet">${reason}</p>`
}
