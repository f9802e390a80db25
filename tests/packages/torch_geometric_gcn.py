import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool

from shared import filled, numbers, three_steps

graphs = []
for i in range(6):
    ring = torch.arange(5)
    edges = torch.stack([torch.cat([ring, (ring + 1) % 5]), torch.cat([(ring + 1) % 5, ring])])
    graphs.append(Data(x=numbers(5, 4, start=i), edge_index=edges, y=torch.tensor([i % 2])))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = GCNConv(4, 8), GATConv(8, 8, heads=2), torch.nn.Linear(16, 2)

    def forward(self, data):
        x = self.first(data.x, data.edge_index).relu()
        x = self.second(x, data.edge_index).relu()
        return self.head(global_mean_pool(x, data.batch))


model = filled(Net())
batch = next(iter(DataLoader(graphs, batch_size=6)))
three_steps(model, lambda step: torch.nn.functional.cross_entropy(model(batch), batch.y))
