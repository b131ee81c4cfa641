import {z} from 'zod'
import type {Config} from '../../shared/config.ts'
import {EmbedOrigin} from '../../shared/embed/origin.ts'
import {Refusal} from '../../shared/errors.ts'
import {mayEmbedTemplate} from '../../sql/embed-tokens.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {buildWidget, type WidgetBuild} from '../widget-files.ts'
import {embedPage, widgetPage} from '../widget-page.ts'

let built: Promise<WidgetBuild> | undefined

/** Returns the files of the widget. Production reads them once. Other environments read them again each time the page is opened. */
const readBuild = ({NODE_ENV}: Config, isNewPage: boolean): Promise<WidgetBuild> => {
  if (!built || (isNewPage && NODE_ENV !== 'production')) {
    built = buildWidget()
    built.catch(() => (built = undefined))
  }
  return built
}

export default [
  route({
    method: 'get',
    path: '/',
    operationId: 'openWidget',
    tag: 'Service',
    access: {public: true},
    summary: 'Show the widget',
    answers: {200: {type: 'text/html', what: 'The page of the widget'}},
    refusals: [],
    handle: async ({config}) => widgetPage(config, await readBuild(config, true)),
  }),

  route({
    method: 'get',
    path: '/clients/:build/*file',
    operationId: 'readWidgetFile',
    tag: 'Service',
    access: {public: true},
    summary: 'Read a file of the widget',
    params: z.object({
      build: z
        .string()
        .describe(
          'The build of the page. For another build, the files of this build are returned and not cached, so that pages work during a rollout',
        ),
      file: z.string().describe('The path of the file'),
    }),
    answers: {
      200: [
        {type: 'text/javascript', what: 'A script'},
        {type: 'text/css', what: 'a style sheet'},
        {type: 'image/svg+xml', what: 'or an image'},
      ],
    },
    refusals: ['NOT_FOUND'],
    async handle({config, params, request}) {
      const build = await readBuild(config, false)
      const file = build.files.get(params.file)
      if (!file) throw new Refusal('NOT_FOUND', 'No file has this path. Reload the page')
      const isZipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
      const headers = {
        'content-type': `${file.type}; charset=utf-8`,
        'cache-control': params.build === build.name ? 'public, max-age=31536000, immutable' : 'no-store',
        vary: 'Accept-Encoding, Origin',
        ...(isZipped && {'content-encoding': 'gzip'}),
      }
      return reply({headers, body: isZipped ? file.zipped : file.body})
    },
  }),

  route({
    method: 'get',
    path: '/embed',
    operationId: 'showEmbeddedImport',
    tag: 'Embedding',
    access: {public: true},
    summary: 'Show the embedded import',
    description:
      'The page in the frame of `<lading-import>`. Its policy lets only `origin` frame it, and `within` around that, and only if the settings of the org of the template list both.',
    answers: {200: {type: 'text/html', what: 'The page of the embedded import'}},
    refusals: [],
    query: z.object({
      template: z.string().max(100).describe('The template of the imports'),
      origin: EmbedOrigin.describe('The origin of the page that embeds the import'),
      within: EmbedOrigin.optional().describe('The origin of the page around that page, if that page is in a frame too'),
    }),
    async handle({db, config, query: {template, origin, within}}) {
      const origins = [origin, ...(within ? [within] : [])]
      const mayEmbed = await mayEmbedTemplate(db, {template, origins})
      return embedPage(config, await readBuild(config, true), mayEmbed ? {template, origin, origins} : null)
    },
  }),

  route({
    method: 'get',
    path: '/embed.js',
    operationId: 'readEmbedScript',
    tag: 'Embedding',
    access: {public: true},
    summary: 'Read the script for pages that embed an import',
    description: 'Defines `<lading-import>` and `Lading.open()`. Pages of any origin may load it.',
    answers: {200: {type: 'text/javascript', what: 'The script'}},
    refusals: [],
    async handle({config, request}) {
      const {body, zipped} = (await readBuild(config, false)).files.get('widget/embed/host.ts')!
      const isZipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
      return reply({
        headers: {
          'content-type': 'text/javascript; charset=utf-8',
          'cache-control': 'public, max-age=300',
          'cross-origin-resource-policy': 'cross-origin',
          vary: 'Accept-Encoding, Origin',
          ...(isZipped && {'content-encoding': 'gzip'}),
        },
        body: isZipped ? zipped : body,
      })
    },
  }),
]
