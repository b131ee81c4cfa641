import {html, type Markup} from '../html.ts'

export type Tone = 'neutral' | 'info' | 'good' | 'warning' | 'bad'

/** A word on a state. The tone repeats what the word says: colour alone tells nothing. */
export const Pill = ({tone = 'neutral', children}: {tone?: Tone; children?: Markup}) =>
  html`<span class=${`pill ${tone}`}>${children}</span>`
