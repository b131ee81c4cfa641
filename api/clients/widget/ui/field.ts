import {useId} from 'preact/hooks'
import {html, type Markup} from '../html.ts'

type Labelled = {label: Markup; hint?: Markup; error?: Markup; isHidden?: boolean}
type Attributes = {[attribute: string]: unknown}

/** A control with label, hint and error. `isHidden` hides the label visually but not from screen readers. */
const Field = ({label, hint, error, isHidden = false, control}: Labelled & {control: (tied: Attributes) => Markup}) => {
  const id = useId()
  const told = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return html`
    <div class="field">
      <label for=${id} class=${isHidden ? 'unseen' : ''}>${label}</label>
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
      ${control({id, 'aria-describedby': told || undefined, 'aria-invalid': error ? 'true' : undefined})}
      ${error && html`<p class="wrong" id=${`${id}-error`}>${error}</p>`}
    </div>
  `
}

type Texted = Labelled & Attributes & {value: string; onInput: (value: string) => void}

const labelled = ({label, hint, error, isHidden}: Labelled) => ({label, hint, error, ...(isHidden !== undefined && {isHidden})})
const rest = ({label, hint, error, isHidden, ...others}: Attributes) => others
const textIn = (event: Event) => (event.target as HTMLInputElement).value

export const TextField = ({onInput, ...given}: Texted) => html`
  <${Field}
    ...${labelled(given)}
    control=${(tied: Attributes) => html`<input type="text" ...${rest(given)} ...${tied} onInput=${(event: Event) => onInput(textIn(event))} />`}
  />
`

export const TextArea = ({onInput, ...given}: Texted) => html`
  <${Field}
    ...${labelled(given)}
    control=${(tied: Attributes) => html`<textarea rows="3" spellcheck="false" ...${rest(given)} ...${tied} onInput=${(event: Event) => onInput(textIn(event))}></textarea>`}
  />
`

type Option = {value: string; label: string; group?: string; disabled?: boolean}
type Chosen = Labelled & Attributes & {value: string; options: Option[]; onChange: (value: string) => void}

/** A native select, which works with every keyboard, screen reader and phone. Options with the same `group` are shown together. */
export const Select = ({options, value, onChange, ...given}: Chosen) => {
  const groups = [...new Set(options.map(option => option.group))]
  const list = (group: string | undefined) =>
    options
      .filter(option => option.group === group)
      .map(({value: one, label, disabled}) => html`<option value=${one} selected=${one === value} disabled=${disabled}>${label}</option>`)
  return html`
    <${Field}
      ...${labelled(given as Labelled)}
      control=${(tied: Attributes) => html`
        <select ...${rest(given)} ...${tied} value=${value} onChange=${(event: Event) => onChange(textIn(event))}>
          ${groups.map(group => (group === undefined ? list(group) : html`<optgroup label=${group}>${list(group)}</optgroup>`))}
        </select>
      `}
    />
  `
}

type Ticked = {label: Markup; hint?: Markup; checked: boolean; onChange: (checked: boolean) => void; disabled?: boolean}

export const Check = ({label, hint, checked, onChange, disabled = false}: Ticked) => {
  const id = useId()
  return html`
    <div class="check">
      <input
        type="checkbox"
        id=${id}
        checked=${checked}
        disabled=${disabled}
        aria-describedby=${hint ? `${id}-hint` : undefined}
        onChange=${(event: Event) => onChange((event.target as HTMLInputElement).checked)}
      />
      <label for=${id}>${label}</label>
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    </div>
  `
}
