import {html, type Markup} from '../html.ts'

export type Tone = 'neutral' | 'info' | 'good' | 'warning' | 'bad'

/** A label for a state. The colour only repeats what the text says. */
export const Pill = ({tone = 'neutral', children}: {tone?: Tone; children?: Markup}) =>
  html`<span class=${`pill ${tone}`}>${children}</span>`
