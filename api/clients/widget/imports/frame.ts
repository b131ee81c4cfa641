import {useEffect, useRef} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {embed} from '../state/embed.ts'
import {to} from '../state/place.ts'
import {t} from '../text/files.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Page} from '../ui/page.ts'
import {type LoadedImport, useImport} from './known.ts'
import {type Step, type StepKey, stepKeys, stepLabels, stepsOf} from './steps.ts'

type FrameProps = {id: string; step: StepKey; title?: string; lead?: Markup; actions?: Markup; children: (known: LoadedImport) => Markup}

/** The frame of every page of an import: breadcrumb, steps and content. `children` renders the content from the loaded import. */
export const ImportFrame = ({id, step, title = stepLabels[step], lead, actions, children}: FrameProps) => {
  const {known, error, again} = useImport(id)
  const trail = [{label: t.imports, href: to('imports')}, ...(known ? [{label: known.import.name, href: to('imports', id)}] : [])]
  return html`
    <${Page} title=${title} trail=${embed.value ? [] : trail} lead=${lead} actions=${known && !embed.value && actions}>
      <${Steps} id=${id} here=${step} steps=${known ? stepsOf(known) : null} />
      <${Problem} error=${error} again=${again} />
      ${known?.import.state === 'expired' && html`<${Notice} kind="warning" title=${t.thisImportHasExpired}>${t.itsFilesAndMappingsWereDeletedThe}<//>`}
      ${known ? children(known) : !error && html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span> ${t.loading}</p>`}
    <//>
  `
}

type StepsProps = {id: string; here: StepKey; steps: Step[] | null}

/**
 * The steps as links. They are shown before their states are loaded, so that the layout does not jump. On a phone, the current step is scrolled
 * into view.
 */
const Steps = ({id, here, steps}: StepsProps) => {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    const [ol, li] = [list.current!, list.current!.querySelector('[aria-current]')!.parentElement!]
    ol.scrollLeft = li.offsetLeft - (ol.clientWidth - li.offsetWidth) / 2
  }, [here])
  return html`
    <nav class="steps" aria-label=${t.stepsOfThisImport}>
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
