import {createHash} from 'node:crypto'
import type {Config} from '../shared/config.ts'
import {listHosts} from '../shared/crm/hosts.ts'
import {type Reply, reply} from './reply.ts'
import {importMapOf, type WidgetBuild} from './widget-files.ts'

/** Returns the widget's page. It loads only our own files, calls only our own API, and cannot be framed. */
export const widgetPage = (config: Config, build: WidgetBuild): Reply => {
  const importMap = importMapOf(build)
  const mapHash = createHash('sha256').update(importMap).digest('base64')
  const policy = [
    `default-src 'none'; script-src 'self' 'sha256-${mapHash}'; style-src 'self'; img-src 'self' data:; connect-src 'self'`,
    `base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'`,
  ]
  const at = (path: string) => `/clients/${build.name}/${path}`
  const settings = {dataCentres: listHosts(config).map(({dc}) => dc)}
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
<script type="application/json" id="settings">${JSON.stringify(settings)}</script>
<script type="module" src="${at('widget/main.ts')}"></script>
<div id="app"><p class="loading">Loading … If nothing else appears, reload the page.</p></div>
<noscript>Lading requires JavaScript. Turn it on in the browser, then reload the page.</noscript>
</html>
`,
  })
}
