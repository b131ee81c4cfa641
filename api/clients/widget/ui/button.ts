import {html, type Markup} from '../html.ts'

type ButtonProps = {
  children?: Markup
  onClick?: (event: MouseEvent) => unknown
  kind?: 'plain' | 'main' | 'danger' | 'quiet'
  type?: 'button' | 'submit'
  isBusy?: boolean
  disabled?: boolean
  label?: string
  class?: string
  [attribute: string]: unknown
}

/**
 * A button. A busy button keeps its position and focus, and ignores clicks. `label`: the accessible name of a button that shows only a symbol.
 */
export const Button = ({
  children,
  kind = 'plain',
  type = 'button',
  isBusy = false,
  disabled = false,
  label,
  onClick,
  ...rest
}: ButtonProps) => html`
  <button
    ...${rest}
    type=${type}
    class=${`button ${kind} ${rest.class ?? ''}`}
    aria-label=${label}
    aria-busy=${isBusy ? 'true' : undefined}
    aria-disabled=${isBusy ? 'true' : rest['aria-disabled']}
    disabled=${disabled}
    onClick=${isBusy ? (event: MouseEvent) => event.preventDefault() : onClick}
  >
    ${isBusy && html`<span class="spinner" aria-hidden="true"></span>`}${children}
  </button>
`
