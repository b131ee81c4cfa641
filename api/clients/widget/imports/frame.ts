import {useEffect, useRef} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {to} from '../state/place.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Page} from '../ui/page.ts'
import {type Known, useImport} from './known.ts'
import {type Step, type StepKey, stepKeys, stepLabels, stepsOf} from './steps.ts'

type FrameProps = {id: string; step: StepKey; title?: string; lead?: Markup; actions?: Markup; children: (known: Known) => Markup}

/**
 * The frame of every page of one import: where one is, how each step stands, and the page itself, which is handed what is known.
 * `html`<${ImportFrame} id=${id} step="run">${(known: Known) => …}<//>``
 */
export const ImportFrame = ({id, step, title = stepLabels[step], lead, actions, children}: FrameProps) => {
  const {known, error, again} = useImport(id)
  const trail = [{label: 'Imports', href: to('imports')}, ...(known ? [{label: known.import.name, href: to('imports', id)}] : [])]
  return html`
    <${Page} title=${title} trail=${trail} lead=${lead} actions=${known && actions}>
      <${Steps} id=${id} here=${step} steps=${known ? stepsOf(known) : null} />
      <${Problem} error=${error} again=${again} />
      ${known?.import.state === 'expired' && html`<${Notice} kind="warning" title="This import has expired">Its files and mappings are gone; what its runs came to is still told. Make a new import to send the file again.<//>`}
      ${known ? children(known) : !error && html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span> Loading …</p>`}
    <//>
  `
}

type StepsProps = {id: string; here: StepKey; steps: Step[] | null}

/** While the states are not known the links are there already, so that nothing jumps. On a phone the step one is at is moved into sight. */
const Steps = ({id, here, steps}: StepsProps) => {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    const [ol, li] = [list.current!, list.current!.querySelector('[aria-current]')!.parentElement!]
    ol.scrollLeft = li.offsetLeft - (ol.clientWidth - li.offsetWidth) / 2
  }, [here])
  return html`
    <nav class="steps" aria-label="Steps of this import">
      <ol ref=${list}>
        ${stepKeys.map(key => html`<${OneStep} key=${key} id=${id} name=${key} isHere=${key === here} step=${steps?.find(one => one.key === key)} />`)}
      </ol>
    </nav>
  `
}

type OneStepProps = {id: string; name: StepKey; isHere: boolean; step: Step | undefined}

const OneStep = ({id, name, isHere, step}: OneStepProps) => html`
  <li class=${step?.state ?? 'todo'}>
    <a href=${to('imports', id, name)} aria-current=${isHere ? 'step' : undefined}>
      <span class="mark" aria-hidden="true">${step?.state === 'problems' ? step.problems : marks[step?.state ?? 'todo']}</span>
      <span>${stepLabels[name]}</span>
      ${step && html`<span class="unseen">, ${step.said}</span>`}
    </a>
  </li>
`

const marks = {done: '✓', todo: '', busy: '…', problems: '!'}

/** What to do next, at the foot of a page: one step on. */
export const NextStep = ({id, step, children}: {id: string; step: StepKey; children?: Markup}) => html`
  <p class="next-step"><a class="button main" href=${to('imports', id, step)}>${children ?? `Go on to ${stepLabels[step].toLowerCase()}`}</a></p>
`
