import {html} from '../html.ts'

type ProgressProps = {label: string; done: number; total: number | null; text?: string}

/** A progress bar. `total` is null if it is not known. */
export const Progress = ({label, done, total, text}: ProgressProps) => html`
  <div class="progress">
    <progress aria-label=${label} ...${total === null ? {} : {value: Math.min(done, total), max: Math.max(total, 1)}}></progress>
    ${text && html`<span class="progress-text">${text}</span>`}
  </div>
`
