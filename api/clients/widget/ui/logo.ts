import {html} from '../html.ts'

export const productName = 'Lading'

/** The product's logo, as in `icon.svg`. The product name is next to it, so screen readers skip the logo. */
export const Logo = () => html`
  <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="7" fill="#14532d" />
    <path d="M7 9h18M7 15h18M7 21h9" stroke="#fff" stroke-width="3" stroke-linecap="round" />
    <path d="m19 22 3 3 5-6" fill="none" stroke="#86efac" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" />
  </svg>
`
