import {createHash} from 'node:crypto'
import type {Config} from '../shared/config.ts'
import {listHosts} from '../shared/crm/hosts.ts'
import {type Reply, reply} from './reply.ts'
import {importMapOf, type WidgetBuild} from './widget-files.ts'

type EmbedSettings = {origin: string; template: string}
/** `origins`: the origins of all pages that may be around the frame, the embedding page included. */
type EmbedFrame = EmbedSettings & {origins: string[]}
type Document = {main: string; frameAncestors: string; embed: EmbedSettings | null}

/** Returns the widget's page. It loads only our own files, calls only our own API, and cannot be framed. */
export const widgetPage = (config: Config, build: WidgetBuild): Reply =>
  writePage(config, build, {main: 'widget/main.ts', frameAncestors: "'none'", embed: null})

/**
 * Returns the page of an embedded import. Only pages of `origins` may be around its frame. `frame` is null if the org of the template does not list
 * all these origins. Then no page may frame the import.
 */
export const embedPage = (config: Config, build: WidgetBuild, frame: EmbedFrame | null): Reply =>
  writePage(config, build, {
    main: 'widget/embed/main.ts',
    frameAncestors: frame?.origins.join(' ') ?? "'none'",
    embed: frame && {origin: frame.origin, template: frame.template},
  })

const writePage = (config: Config, build: WidgetBuild, {main, frameAncestors, embed}: Document): Reply => {
  const importMap = importMapOf(build)
  const mapHash = createHash('sha256').update(importMap).digest('base64')
  const policy = [
    `default-src 'none'; script-src 'self' 'sha256-${mapHash}'; style-src 'self'; img-src 'self' data:; connect-src 'self'`,
    `base-uri 'none'; form-action 'none'; frame-ancestors ${frameAncestors}; require-trusted-types-for 'script'; trusted-types 'none'`,
  ]
  const at = (path: string) => `/clients/${build.name}/${path}`
  const settings = {dataCentres: listHosts(config).map(({dc}) => dc), embed}
  return reply({
    headers: {'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'content-security-policy': policy.join('; ')},
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Lading</title>
<link rel="icon" type="image/svg+xml" href="${at('widget/icon.svg')}">
${build.styles.map(path => `<link rel="stylesheet" href="${at(path)}">`).join('\n')}
<script type="importmap">${importMap}</script>
<script type="application/json" id="settings">${JSON.stringify(settings).replaceAll('<', '\\u003c')}</script>
<script type="module" src="${at(main)}"></script>
<div id="app"><p class="loading">Loading … If nothing else appears, reload the page.</p></div>
<noscript>Lading requires JavaScript. Turn it on in the browser, then reload the page.</noscript>
</html>
`,
  })
}
