{{- define "muster.namespace" -}}
{{ .Values.namespace | default .Release.Namespace }}
{{- end }}

{{- define "muster.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "muster.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Of a ClusterRole: two releases must not meet. */}}
{{- define "muster.role" -}}
{{ .Values.serviceAccount }}-{{ include "muster.namespace" . }}
{{- end }}

{{- define "muster.configMap" -}}
{{ .Values.configMap.name | default .Values.deploymentName }}
{{- end }}

{{/* MCAD's values have their quotes with them: '"true"'. */}}
{{- define "muster.plain" -}}
{{ . | toString | trimAll "\"" | quote }}
{{- end }}
