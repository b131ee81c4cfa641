import {useEffect, useRef} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import type {Loaded} from '../state/load.ts'
import {place} from '../state/place.ts'
import {messageOf} from '../text/errors.ts'
import {t} from '../text/shell.ts'
import {Notice, Problem} from './notice.ts'

type PageProps = {title: string; trail?: {label: string; href: string}[]; lead?: Markup; actions?: Markup; children?: Markup}

/** Sets the window title, and focuses the heading after navigation for screen readers. */
export const Page = ({title, trail = [], lead, actions, children}: PageProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  const path = place.value.path.join('/')
  useEffect(() => {
    document.title = `${title} · Lading`
  }, [title])
  useEffect(() => {
    if (hasMoved(path)) heading.current?.focus()
  }, [path])
  return html`
    <header class="page-head">
      ${trail.length > 0 && html`<nav aria-label=${t.breadcrumbs}><ol class="trail">${trail.map(({label, href}) => html`<li><a href=${href}>${label}</a></li>`)}</ol></nav>`}
      <div class="page-title">
        <h1 ref=${heading} tabindex="-1">${title}</h1>
        ${actions && html`<div class="actions">${actions}</div>`}
      </div>
      ${lead && html`<div class="lead">${lead}</div>`}
    </header>
    ${children}
  `
}

let before: string | null = null
const hasMoved = (path: string) => {
  const moved = before !== null && before !== path
  before = path
  return moved
}

const missing = ['NOT_FOUND', 'IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'MODULE_NOT_FOUND', 'CONNECTION_NOT_FOUND']

/** Explains why a page has no data. A missing role or a deleted object gets no retry button, because a retry does not help. */
const LoadProblem = ({error, again}: {error: unknown; again: () => void}) => {
  const code = error instanceof ApiError ? error.code : null
  if (code === 'ROLE_REQUIRED') return html`<${Notice} title=${t.yourRoleDoesNotAllowThis}>${messageOf(error as ApiError)}.<//>`
  if (code !== null && missing.includes(code))
    return html`<${Notice} title=${t.notFound}>${t.deletedOrElsewhere} <a href="#/">${t.goToImports}</a><//>`
  return html`<${Problem} error=${error} again=${again} />`
}

/** Renders loaded data, a loading message or an error. Old data stays visible during a reload, and below the error of a failed one. */
export const Shown = <T>({of, children}: {of: Loaded<T>; children: (data: T) => Markup}) => {
  const problem = of.error && html`<${LoadProblem} error=${of.error} again=${of.again} />`
  if (of.data !== undefined) return html`${problem}${children(of.data)}`
  return problem || html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span> ${t.loading}</p>`
}
