import {contentType} from '../../shared/metrics/scrape.ts'
import {File} from '../answers/common.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/metrics',
    access: {operator: true, scrape: true},
    summary: 'Read the figures of this process and of the deployment',
    description:
      'Also with `METRICS_TOKEN` as the bearer, which opens nothing else. While Postgres is away it answers with the figures of the process alone (`lading_deployment_read 0`); in maintenance it is refused as any other route. `shared/metrics/alerts.yml` holds alert rules over them.',
    answers: {200: File('text/plain', "Figures in Prometheus' text format, version 0.0.4")},
    refusals: [],
    async handle({metrics}) {
      return reply({headers: {'content-type': contentType, 'cache-control': 'no-store'}, body: await metrics.text()})
    },
  }),
]
